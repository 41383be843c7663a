import { join } from 'node:path'
import { missingPrerequisite } from './commands/prerequisites.ts'
import { withRuntimeSettings } from './commands/serve/runtime-settings.ts'

const missing = missingPrerequisite(Bun.version, join(import.meta.dir, '../node_modules'))
if (missing !== undefined) {
  process.stderr.write(`tollgate: ${missing}\n`)
  process.exit(1)
}
const words = process.argv.slice(2)

// First of all: a process that begins anew would have loaded everything else for nothing.
if (words[0] === 'serve') withRuntimeSettings(process.env)

const { runProgram } = await import('./commands/program.ts')
await runProgram(words)
