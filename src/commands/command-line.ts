import { ConfigFileError } from '@/config/file.ts'
import { SettingsError } from '@/config/settings.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { codeOf } from '@/errors/code.ts'
import { Refusal } from '@/errors/refusal.ts'
import { type Command, type CommandIo, UsageError } from './command.ts'
import { programVersion } from './version.ts'

const PROGRAM = 'tollgate'

/**
 * Runs the command that the words name and gives the exit code: 0 done, 1 refused or failed (a line on stderr),
 * 2 wrong words or a wrong environment.
 */
export async function runCommandLine(
  words: readonly string[],
  commands: readonly Command[],
  io: CommandIo,
): Promise<number> {
  if (words[0] === '--version') {
    io.out(`${PROGRAM} ${programVersion()}`)
    return 0
  }
  const command = findCommand(words, commands)
  if (command === undefined) return explainCommands(words, commands, io)
  const args = words.slice(command.name.split(' ').length)
  if (asksForHelp(args)) {
    io.out(usageOf(command))
    return 0
  }
  try {
    return await command.run(args, io)
  } catch (error) {
    return explain(error, command, io)
  }
}

function findCommand(words: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word))
}

/** No command, or half of one: says which there are. Only a question for help is not an error. */
function explainCommands(words: readonly string[], commands: readonly Command[], io: CommandIo): number {
  const said = words.filter(word => !word.startsWith('-')).slice(0, 2)
  const [first] = said
  const group = commands.filter(({ name }) => first !== undefined && name.startsWith(`${first} `))
  const known = overview(group.length > 0 ? group : commands)
  if (asksForHelp(words) && (first === undefined || group.length > 0)) {
    io.out(known)
    return 0
  }
  const problem = first === undefined ? 'a command is missing' : `there is no command "${said.join(' ')}"`
  io.error(`${PROGRAM}: ${problem}\n\n${known}`)
  return 2
}

function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return [
    `usage: ${PROGRAM} COMMAND`,
    '',
    ...lines,
    '',
    'Every command takes --json (one JSON value on stdout) and --help.',
    `${PROGRAM} --version says which this is.`,
  ].join('\n')
}

function usageOf({ name, usage, summary, details }: Command): string {
  const head = ['usage:', PROGRAM, name, ...(usage === '' ? [] : [usage]), '[--json]'].join(' ')
  return [head, '', summary, ...(details === '' ? [] : ['', details])].join('\n')
}

function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end < 0 ? undefined : end).some(word => word === '--help' || word === '-h')
}

function explain(error: unknown, command: Command, io: CommandIo): number {
  if (error instanceof UsageError) {
    io.error(`${PROGRAM} ${command.name}: ${error.message}\n\n${usageOf(command)}`)
    return 2
  }
  if (error instanceof SettingsError) {
    for (const line of error.lines) io.error(line)
    return 2
  }
  if (error instanceof ConfigFileError) {
    for (const line of error.lines) io.error(line)
    return 1
  }
  io.error(`${PROGRAM}: ${error instanceof Refusal ? error.message : failure(error)}`)
  return 1
}

/** One line. A failed statement is told by the database's words: the query builder's hold the values of the row. */
function failure(error: unknown): string {
  const innermost = deepest(error)
  const sql = sqlErrorOf(error)
  const text = innermost instanceof Error ? innermost.message || innermost.name : String(innermost)
  const line = text.split('\n')[0] ?? ''
  // All that the client says of a connection that was there is its own name for it, and the address.
  if (/^CONNECTION_(?:CLOSED|DESTROYED)$/.test(codeOf(innermost))) {
    return `the database does not answer any more: ${line}`
  }
  return sql === undefined ? line : `the database said: ${line} (${sql.code})`
}

function deepest(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return deepest(error.errors[0])
  return error instanceof Error && error.cause !== undefined ? deepest(error.cause) : error
}
