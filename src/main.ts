import { accountCommands } from './commands/account.ts'
import { adminCommands } from './commands/admin.ts'
import { applyCommand } from './commands/apply.ts'
import type { Command, CommandIo } from './commands/command.ts'
import { runCommandLine } from './commands/command-line.ts'
import { keyCommands } from './commands/key.ts'
import { ledgerCommands } from './commands/ledger.ts'
import { migrateCommand } from './commands/migrate.ts'
import { receiptCommand } from './commands/receipt.ts'
import { serveCommand } from './commands/serve.ts'
import { simulatorCommand } from './commands/simulator.ts'

/** Everything that the program does, in the order of its overview. */
const commands: readonly Command[] = [
  serveCommand,
  migrateCommand,
  applyCommand,
  ...accountCommands,
  ...keyCommands,
  ...ledgerCommands,
  ...adminCommands,
  receiptCommand,
  simulatorCommand,
]

const io: CommandIo = {
  env: process.env,
  out: text => process.stdout.write(`${text}\n`),
  error: text => process.stderr.write(`${text}\n`),
  terminal: process.stdout.isTTY === true,
  now: Date.now,
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read it has left, as `| head -1` does, and has what they wanted.
  if (error.code === 'EPIPE') return
  io.error(`tollgate: the output cannot be written: ${error.message}`)
  process.exitCode = 1
})

const exitCode = await runCommandLine(process.argv.slice(2), commands, io)
process.exitCode ||= exitCode
