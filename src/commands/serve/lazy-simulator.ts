import { type SimulatorServer, serveSimulator } from '@/simulator/serve.ts'

/** The built-in simulator listens from the first time that a channel needs it. */
export function lazySimulator() {
  let server: SimulatorServer | undefined
  return {
    url: () => {
      server ??= serveSimulator({ hostname: '127.0.0.1', port: 0 })
      return server.url
    },
    stop: async () => server?.stop(),
  }
}
