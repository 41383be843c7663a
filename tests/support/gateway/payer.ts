import type { SpendCap } from '@/accounts/account.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import type { Database } from '@/db/connect.ts'

/** An account with credit, and a key of it. */
export interface Payer {
  accountId: number
  keyId: number
  key: string
}

/** What a test wants of it; ample credit that was paid for, unless said. */
export interface PayerOptions {
  email?: string
  creditNano?: bigint
  onTrial?: boolean
  /** Given to it beside those of every account. */
  models?: string[]
  /** Of the key; none unless said. */
  cap?: SpendCap | undefined
}

/** Opens an account of which nothing bad is known, with a key that may do all that it may. */
export async function openPayer(
  database: Pick<Database, 'orm'>,
  { cap, ...options }: PayerOptions = {},
): Promise<Payer> {
  const { id: accountId } = await accountStore(database).createAccount({
    email: `${crypto.randomUUID()}@example.com`,
    creditNano: 10n ** 12n,
    onTrial: false,
    models: [],
    ...options,
  })
  const { id: keyId, key } = await keyStore(database).createKey({ accountId, name: 'test', cap })
  return { accountId, keyId, key }
}
