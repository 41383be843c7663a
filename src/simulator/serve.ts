import { createSimulator, type Simulator, type SimulatorOptions } from './simulator.ts'

/** A simulator, and where it listens. */
interface ServeSimulatorOptions extends SimulatorOptions {
  /** 0 takes a free port. */
  port: number
  hostname: string
}

/** A simulator that listens. */
export interface SimulatorServer {
  /** Without a slash at the end. */
  url: string
  simulator: Simulator
  /** Closes the listener and every open connection. */
  stop(): Promise<void>
}

/** Bun resets the connection whatever a body fails with, but prints it unless it is null. */
const SILENT = null

/** The simulator as a server of its own. */
export function serveSimulator({ port, hostname, ...options }: ServeSimulatorOptions): SimulatorServer {
  const simulator = createSimulator({ cutError: SILENT, ...options })
  const server = Bun.serve({
    port,
    hostname,
    reusePort: false,
    idleTimeout: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: request => simulator.fetch(request),
    error: () => new Response(null, { status: 500 }),
  })
  return {
    url: `http://${hostname}:${server.port}`,
    simulator,
    stop: () => server.stop(true),
  }
}
