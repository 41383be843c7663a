import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endsWithTests } from '#tests/support/leftovers.ts'

/** `tollgate serve` as a process of its own. */
export interface ServerProcess {
  pid: number
  apiUrl: string
  opsUrl: string
  consoleUrl: string
  /** Everything on stdout so far. */
  output(): string
  /** Megabytes of memory that the process holds. */
  residentMb(): Promise<number>
  kill(signal: NodeJS.Signals): void
  exited: Promise<number>
  dataDir: string
  /** Kills the process if it still runs and removes its directory. */
  close(): Promise<void>
}

interface SpawnOptions {
  env?: Record<string, string>
  /** A tollgate.yaml. */
  config?: string
  dataDir?: string
}

const ROOT = new URL('../../..', import.meta.url).pathname

/** The environment of a process of ours that listens where nobody else does. */
export const FREE_PORTS = {
  PATH: process.env['PATH'],
  HOST: '127.0.0.1',
  PORT: '0',
  OPS_PORT: '0',
  CONSOLE_PORT: '0',
}

/** Starts the program on free ports and waits until it says where it listens. */
export async function spawnServer(options: SpawnOptions = {}): Promise<ServerProcess> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'tollgate-serve-'))
  const configFile = join(dataDir, 'tollgate.yaml')
  if (options.config !== undefined) await Bun.write(configFile, options.config)
  const child = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), 'serve'], {
    cwd: dataDir,
    env: {
      ...FREE_PORTS,
      DATA_DIR: join(dataDir, 'data'),
      LOG_FORMAT: 'json',
      ...options.env,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  endsWithTests(child)
  let output = ''
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true })
  }
  const reading = Promise.all([collect(child.stdout), collect(child.stderr)])
  const [apiUrl = '', opsUrl = '', consoleUrl = ''] = await greetingOf(child, () => output)
  return {
    pid: child.pid,
    apiUrl,
    opsUrl,
    consoleUrl,
    output: () => output,
    residentMb: () => residentMb(child.pid),
    kill: signal => child.kill(signal),
    exited: child.exited.then(async code => {
      await reading
      return code
    }),
    dataDir,
    async close() {
      if (child.exitCode === null) child.kill('SIGTERM')
      await child.exited
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** What a start says where it listens, in this order. */
const GREETING = [/API {2}(\S+)\s/, /ops {2}(\S+)\s/, /console {2}(\S+)\s/]

/** A trial of `bun run chaos` has no time of its own that would end it. */
const LONGEST_START_MS = 600_000

/** How long that takes is the machine's affair; the test's own time ends one that never comes, and then this says how far it came. */
async function greetingOf(child: { exitCode: number | null }, output: () => string): Promise<string[]> {
  const start = performance.now()
  const slow = setTimeout(() => console.error(`the server has not started yet: ${output()}`), 50_000)
  try {
    for (;;) {
      const addresses = GREETING.flatMap(address => address.exec(output())?.[1] ?? [])
      if (addresses.length === GREETING.length) return addresses
      if (child.exitCode !== null || performance.now() - start > LONGEST_START_MS) {
        throw new Error(`the server did not start: ${output()}`)
      }
      await Bun.sleep(5)
    }
  } finally {
    clearTimeout(slow)
  }
}

async function residentMb(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text()
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** A client on a bare socket: Bun's fetch runs 256 requests at once and reads ahead, which tests of many or slow readers cannot use. */
export interface RawClient {
  socket: Socket
  text(): string
  closed: Promise<void>
}

export function rawPost(url: string, path: string, key: string, body: string): RawClient {
  const { hostname, port } = new URL(url)
  let text = ''
  const socket = connect(Number(port), hostname)
  const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
  socket.on('error', () => {})
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  socket.on('data', chunk => {
    text += chunk.toString('latin1')
  })
  return { socket, text: () => text, closed }
}
