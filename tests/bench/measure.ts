import { join } from 'node:path'
import { cpuUs, memoryMb, processTree } from './machine.ts'
import type { Call, Scenario } from './scenarios.ts'
import type { RunningServer } from './servers.ts'

/** What one run of one scenario on one target came to. */
export interface Sample {
  requests: number
  chunks: number
  /** Broken answers and statuses other than 200: a figure with any is void. */
  failures: number
  /** CPU of the target's processes, all threads, for each chunk of a stream or each whole answer. */
  cpuUs: number
  /** The same for its databases. */
  storeCpuUs: number
  firstByteP50Us: number
  firstByteP99Us: number
  /** Memory added while the streams were open. */
  addedMb: number
}

export interface LoadOptions {
  /** Where the compiled programs are. */
  binaries: string
  /** A directory for the request's body. */
  directory: string
  secs: number
  headers: Readonly<Record<string, string>>
}

/** Runs the load generator against a server and reads what that cost it. */
export async function measure(
  server: RunningServer,
  scenario: Scenario,
  call: Call,
  options: LoadOptions,
): Promise<Sample> {
  const { own, stores } = processTree(server.pid)
  const databases = [...stores, ...server.storePids.flatMap(pid => processTree(pid).stores)]
  const restingMb = scenario.figure === 'memory' ? await memoryAtRest(own) : 0
  const before = { cpu: cpuUs(own), stores: cpuUs(databases) }
  await Bun.write(bodyFile(options), call.body)
  const load = runLoad(server, scenario, call, options)
  let addedMb = 0
  if (scenario.figure === 'memory') {
    await Bun.sleep((options.secs - 1) * 1000)
    addedMb = memoryMb(own) - restingMb
  }
  const said = readLoad(await load)
  const units = Math.max(1, scenario.stream ? said.chunks : said.done)
  return {
    requests: said.done,
    chunks: said.chunks,
    failures: said.errors + said.non200 + (units > 1 ? 0 : 1),
    cpuUs: (cpuUs(own) - before.cpu) / units,
    storeCpuUs: (cpuUs(databases) - before.stores) / units,
    firstByteP50Us: said.ttft_p50_us,
    firstByteP99Us: said.ttft_p99_us,
    addedMb,
  }
}

const LOOK_MS = 500

/** Memory once it falls no more: what a process used for its start goes back to the kernel in the seconds after it. */
async function memoryAtRest(own: readonly number[]): Promise<number> {
  let least = memoryMb(own)
  for (let looks = 0, quiet = 0; quiet < 6 && looks < 60; looks += 1) {
    await Bun.sleep(LOOK_MS)
    const now = memoryMb(own)
    quiet = now < least - 0.5 ? 0 : quiet + 1
    least = Math.min(least, now)
  }
  return least
}

function runLoad(
  server: RunningServer,
  { connections, pauseMs = 0 }: Scenario,
  { path }: Call,
  options: LoadOptions,
): Promise<string> {
  const { binaries, secs, headers } = options
  const numbers = ['-c', String(connections), '-d', String(secs), '-p', String(pauseMs)]
  const extra = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const command = [join(binaries, 'load'), ...numbers, '-f', bodyFile(options), ...extra, server.url + path]
  return new Response(Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' }).stdout).text()
}

function bodyFile({ directory }: LoadOptions): string {
  return join(directory, 'body.json')
}

type LoadReport = Record<'done' | 'errors' | 'non200' | 'chunks' | 'ttft_p50_us' | 'ttft_p99_us', number>

/** The line that load.c prints. */
function readLoad(line: string): LoadReport {
  if (line === '') throw new Error('the load generator said nothing')
  return JSON.parse(line)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The median of every figure, and all failures. */
export function middle(samples: readonly Sample[]): Sample {
  const of = (figure: keyof Sample) => median(samples.map(sample => sample[figure]))
  return {
    requests: of('requests'),
    chunks: of('chunks'),
    failures: samples.reduce((sum, sample) => sum + sample.failures, 0),
    cpuUs: of('cpuUs'),
    storeCpuUs: of('storeCpuUs'),
    firstByteP50Us: of('firstByteP50Us'),
    firstByteP99Us: of('firstByteP99Us'),
    addedMb: of('addedMb'),
  }
}
