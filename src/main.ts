import { withRuntimeSettings } from './commands/serve/runtime-settings.ts'

const words = process.argv.slice(2)

// First of all: a process that begins anew would have loaded everything else for nothing.
if (words[0] === 'serve') withRuntimeSettings(process.env)

const { runProgram } = await import('./commands/program.ts')
await runProgram(words)
