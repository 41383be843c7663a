import { serveSimulator } from '@/simulator/serve.ts'
import { bind } from './bind.ts'
import { type Command, readArguments, UsageError } from './command.ts'
import { print } from './output.ts'

const DEFAULT_PORT = 8089

/** `simulator`: the built-in upstream on a port of its own. */
export const simulatorCommand: Command = {
  name: 'simulator',
  summary: 'serve the simulator: an upstream of every format that needs no vendor',
  usage: '[--port P]',
  details: `--port P  where to listen on 127.0.0.1; 0 takes a free port (default ${DEFAULT_PORT})`,
  async run(args, io) {
    const { json, texts } = readArguments(args, { port: 'text' })
    const stopped = untilStopped()
    const address = { host: '127.0.0.1', port: readPort(texts['port']) }
    const server = bind({ host: 'the address', port: '--port' }, address, () =>
      serveSimulator({ port: address.port, hostname: address.host }),
    )
    print(io, json, { url: server.url }, () => `The simulator listens on ${server.url}`)
    await stopped
    await server.stop()
    return 0
  },
}

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new UsageError(`--port is "${text}" but must be a whole number from 0 to 65535`)
}

function untilStopped(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
