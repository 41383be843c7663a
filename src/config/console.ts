import { eq } from 'drizzle-orm'
import type { Rows, Transaction } from '@/db/connect.ts'
import { setting } from '@/db/schema.ts'
import { asBoolean, asNumber, asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'

/** What the operator says of the web console: tollgate.yaml's `console`, defaults filled in. */
export interface ConsoleEntry {
  /** Whether visitors may make an account. */
  signup: boolean
  /** Whether account holders see which channel served a request. */
  showChannels: boolean
  /** Where mail goes out; undefined: links are shown to administrators. */
  smtp: SmtpEntry | undefined
  /** Buying credit by card; undefined: nobody can. */
  stripe: { secretKey: string; webhookSecret: string } | undefined
}

/** A mail server, and what mail is from. */
export interface SmtpEntry {
  host: string
  port: number
  /** True: TLS from the start; false: STARTTLS where the server offers it. */
  secure: boolean
  user: string | undefined
  password: string | undefined
  /** What mail is from. */
  from: string
}

const KEY = 'console'
const PRESET: ConsoleEntry = { signup: false, showChannels: false, smtp: undefined, stripe: undefined }

/** What holds now. The whole of it is sealed, since it has a password and keys. */
export async function loadConsoleEntry(rows: Rows, secretBox: SecretBox): Promise<ConsoleEntry> {
  const [row] = await rows.select().from(setting).where(eq(setting.key, KEY))
  return row === undefined ? PRESET : read(row.value, secretBox)
}

/** Writes what the file says; what it leaves out stays, or with `prune` goes back to the preset. True if it differs. */
export async function writeConsoleEntry(
  tx: Transaction,
  secretBox: SecretBox,
  entry: ConsoleEntry | undefined,
  prune: boolean,
): Promise<boolean> {
  if (entry === undefined) {
    if (!prune) return false
    const removed = await tx.delete(setting).where(eq(setting.key, KEY)).returning()
    return removed.length > 0
  }
  const text = JSON.stringify(entry)
  const [row] = await tx.select().from(setting).where(eq(setting.key, KEY))
  if (row !== undefined && JSON.stringify(read(row.value, secretBox)) === text) return false
  const value = Buffer.from(secretBox.seal(text)).toString('base64')
  await tx
    .insert(setting)
    .values({ key: KEY, value })
    .onConflictDoUpdate({ target: setting.key, set: { value } })
  return true
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
