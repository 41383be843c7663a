import { accountCommands } from './account.ts'
import { adminCommands } from './admin.ts'
import { applyCommand } from './apply.ts'
import type { Command, CommandIo } from './command.ts'
import { runCommandLine } from './command-line.ts'
import { keyCommands } from './key.ts'
import { ledgerCommands } from './ledger.ts'
import { migrateCommand } from './migrate.ts'
import { receiptCommand } from './receipt.ts'
import { serveCommand } from './serve.ts'
import { simulatorCommand } from './simulator.ts'

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

/** Does what the words of the command line say, and sets the exit code. */
export async function runProgram(words: readonly string[]): Promise<void> {
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
  const exitCode = await runCommandLine(words, commands, io)
  process.exitCode ||= exitCode
}
