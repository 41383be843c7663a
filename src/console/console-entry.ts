import { isDeepStrictEqual } from 'node:util'
import { eq } from 'drizzle-orm'
import type { ConsoleEntry, SmtpEntry } from '@/config/entries.ts'
import type { Rows, Transaction } from '@/db/connect.ts'
import { setting } from '@/db/schema.ts'
import { asBoolean, asNumber, asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'

const KEY = 'console'
const PRESET: ConsoleEntry = { signup: false, showChannels: false, smtp: undefined, stripe: undefined }

/** What holds now. The whole of it is sealed, since it has a password and keys. */
export async function loadConsoleEntry(rows: Rows, secretBox: SecretBox): Promise<ConsoleEntry> {
  const [row] = await rows.select().from(setting).where(eq(setting.key, KEY))
  return row === undefined ? PRESET : read(row.value, secretBox)
}

/** Writes what the file says; what it leaves out stays, or with `prune` goes back to the preset. Answers what held before. */
export async function writeConsoleEntry(
  tx: Transaction,
  secretBox: SecretBox,
  entry: ConsoleEntry | undefined,
  prune: boolean,
): Promise<ConsoleEntry> {
  const before = await loadConsoleEntry(tx, secretBox)
  if (entry === undefined) {
    if (prune) await tx.delete(setting).where(eq(setting.key, KEY))
  } else if (!isDeepStrictEqual(before, entry)) {
    const value = Buffer.from(secretBox.seal(JSON.stringify(entry))).toString('base64')
    await tx
      .insert(setting)
      .values({ key: KEY, value })
      .onConflictDoUpdate({ target: setting.key, set: { value } })
  }
  return before
}

function read(value: string, secretBox: SecretBox): ConsoleEntry {
  const stored = parseObject(secretBox.open(Buffer.from(value, 'base64'))) ?? {}
  const stripe = asObject(stored['stripe'])
  return {
    signup: asBoolean(stored['signup']) ?? PRESET.signup,
    showChannels: asBoolean(stored['showChannels']) ?? PRESET.showChannels,
    smtp: readSmtp(asObject(stored['smtp'])),
    stripe: stripe && {
      secretKey: asString(stripe['secretKey']) ?? '',
      webhookSecret: asString(stripe['webhookSecret']) ?? '',
    },
  }
}

function readSmtp(smtp: JsonObject | undefined): SmtpEntry | undefined {
  return (
    smtp && {
      host: asString(smtp['host']) ?? '',
      port: asNumber(smtp['port']) ?? 587,
      secure: asBoolean(smtp['secure']) ?? false,
      user: asString(smtp['user']),
      password: asString(smtp['password']),
      from: asString(smtp['from']) ?? '',
    }
  )
}
