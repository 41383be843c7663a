import { type Command, readArguments } from './command.ts'

/** `serve`: one process, or a supervisor and its workers. */
export const serveCommand: Command = {
  name: 'serve',
  summary: 'run the gateway',
  usage: '',
  details: 'Settings come from the environment; see README.md.',
  async run(args, io) {
    readArguments(args, {})
    const { runServing } = await import('./serve/serving.ts')
    await runServing(io)
    return 0
  },
}
