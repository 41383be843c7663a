import type { exchange } from './schema.ts'

/** The stored result of one exchange, as the table has it. */
export type ExchangeRow = Required<typeof exchange.$inferInsert>
