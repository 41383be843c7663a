import { parseArgs } from 'node:util'
import { readEmail } from '@/accounts/email.ts'
import type { Environment } from '@/config/settings.ts'
import { REASON } from '@/config/title.ts'

/** What a command may touch of the process it runs in. */
export interface CommandIo {
  env: Environment
  /** Writes one text, a newline added. */
  out(text: string): void
  /** For people who watch: never part of the result. */
  error(text: string): void
  /** True: `out` is read by a person. */
  terminal: boolean
  /** In ms since 1970. */
  now(): number
}

/** One thing that the command line does. */
export interface Command {
  /** The words that call it: `account create`. */
  name: string
  /** One line for the overview. */
  summary: string
  /** What follows the name. */
  usage: string
  /** What each word means, one per line. */
  details: string
  /** Resolves with the exit code. Throws UsageError, Refusal, SettingsError or ConfigFileError (command-line.ts). */
  run(args: readonly string[], io: CommandIo): Promise<number>
}

/** The words of the command line are wrong: exit 2, with the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** `--name VALUE` for a text, `--name` for a flag. */
export type OptionTypes = Readonly<Record<string, 'text' | 'flag'>>

/** The words of a command line, sorted. */
export interface Arguments {
  json: boolean
  texts: Readonly<Record<string, string | undefined>>
  flags: ReadonlySet<string>
  positionals: readonly string[]
}

/** Sorts the words. `names` are the positional ones, all of which must be there. */
export function readArguments(
  args: readonly string[],
  types: OptionTypes,
  names: readonly string[] = [],
): Arguments {
  const { values, positionals } = parse(args, types)
  const missing = names[positionals.length]
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
  const surplus = positionals[names.length]
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one word too many`)
  const entries = Object.entries(values)
  const texts = entries.flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  )
  return {
    json: values['json'] === true,
    texts: Object.fromEntries(texts),
    flags: new Set(entries.filter(([, value]) => value === true).map(([name]) => name)),
    positionals,
  }
}

function parse(args: readonly string[], types: OptionTypes) {
  const options = Object.fromEntries(
    Object.entries({ ...types, json: 'flag' }).map(([name, type]) => [
      name,
      { type: type === 'text' ? ('string' as const) : ('boolean' as const) },
    ]),
  )
  try {
    const parsed = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
      tokens: true,
    })
    refuseRepeated(parsed.tokens.flatMap(token => (token.kind === 'option' ? [token.name] : [])))
    return parsed
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    // The parser's advice about words that begin with a dash would not help: no command takes one.
    throw new UsageError(message.replace(/\. To specify a positional argument.*$/s, ''))
  }
}

/** Of two values one would be forgotten in silence. */
function refuseRepeated(names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new UsageError(`--${repeated} is there more than once`)
}

/** The value of an option that has to be there. */
export function required({ texts }: Arguments, name: string): string {
  const value = texts[name]
  if (value === undefined || value.trim() === '') throw new UsageError(`--${name} is missing`)
  return value
}

/** What `--reason` says, which has to be there: as the console asks for it. */
export function requiredReason(words: Arguments): string {
  const text = required(words, 'reason')
  if (REASON.test(text)) return text
  throw new UsageError('--reason must be one line of at most 500 characters, with something to see in it')
}

/** The address that `--email` names, which has to be there. */
export function requiredEmail(words: Arguments): string {
  const text = required(words, 'email')
  const email = readEmail(text)
  if (email === undefined) throw new UsageError(`--email is "${text}" but must be an e-mail address`)
  return email
}

/** The id of a row, as a person types it. */
export function readId(text: string, what: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`${what} is "${text}" but must be a number as the lists show it`)
}

/** The texts of a comma list; undefined if the option is absent. */
export function readList(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
}
