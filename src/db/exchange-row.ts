import type { exchange } from './schema.ts'

/** The stored result of one exchange, as the table has it; when it is stored is the database's to say. */
export type ExchangeRow = Required<Omit<typeof exchange.$inferInsert, 'storedAt'>>
