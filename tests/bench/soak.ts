import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build, missingPrograms } from './build.ts'
import { descriptors, memoryMb, processTree } from './machine.ts'
import { median } from './measure.ts'
import { callOf, SCENARIOS, SOAK_STUBS } from './scenarios.ts'
import { type RunningServer, startStub } from './servers.ts'
import { deploy, modelName } from './tollgate.ts'

const USAGE = `bun run bench soak [options]: open streams for a while, and whether the gateway stays as it was

  --secs N     how long, the warm-up included; 600
  --warm N     seconds until memory counts; a third of --secs
  --streams N  open at once, of which a fifth hang up again and again; 2000
  --json       one JSON value on stdout
  --help

Ends with 1 when memory grows by more than 1 MB a minute, descriptors stay open, or p99 of the event loop's delay is
above 20 ms. All three mean something only on a machine that has a core to spare.`

const MAX_SLOPE_MB = 1
const MAX_DELAY_MS = 20

/** Readers that take 20 kB a second of an answer that comes as fast as they let it. */
const SLOW_READERS = 20

interface Reading {
  seconds: number
  memoryMb: number
  descriptors: number
  /** p99 of the event loop's delay since the reading before. */
  delayMs: number
}

export async function soak(words: string[]): Promise<number> {
  const { values } = parseArgs({
    args: words,
    options: {
      secs: { type: 'string', default: '600' },
      warm: { type: 'string' },
      streams: { type: 'string', default: '2000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return 0
  }
  const missing = missingPrograms()
  for (const line of missing) console.error(line)
  if (missing.length > 0) return 2
  const secs = Number(values.secs)
  const result = await run(secs, Number(values.warm ?? secs / 3), Number(values.streams))
  console.log(values.json ? JSON.stringify(result) : describe(result))
  return result.isFlat ? 0 : 1
}

interface Result {
  isFlat: boolean
  slopeMbPerMinute: number
  memoryMb: { first: number; last: number }
  descriptors: { before: number; during: number; after: number }
  loopDelayMs: { p50: number; worst: number }
  load: { name: string; report: Record<string, number> }[]
}

async function run(secs: number, warm: number, streams: number): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-soak-'))
  const binaries = build()
  const stub = await startStub(join(binaries, 'stub'))
  const deployment = await deploy(directory, stub.url, 'embedded')
  const gateway = await deployment.start()
  try {
    const before = descriptors(processTree(gateway.pid).own)
    const load = startLoad({
      binaries,
      directory,
      url: gateway.url,
      key: deployment.key,
      secs,
      warm,
      streams,
    })
    const readings = await readWhile(gateway, Promise.all(load.map(({ ended }) => ended)))
    // Connections of clients that are gone are closed by now, those to the upstream are idle.
    await Bun.sleep(2_000)
    const after = descriptors(processTree(gateway.pid).own)
    const reports = await Promise.all(
      load.map(async ({ name, ended }) => ({ name, report: JSON.parse(await ended) })),
    )
    return judge(
      readings.filter(({ seconds }) => seconds >= warm && seconds < secs),
      before,
      after,
      reports,
    )
  } finally {
    await gateway.stop()
    await stub.stop()
    await deployment.remove()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface LoadOptions {
  binaries: string
  directory: string
  url: string
  key: string
  secs: number
  warm: number
  streams: number
}

/**
 * Callers who stay, a fifth who hang up every three seconds, and a few who read slowly. Those of a kind begin one after
 * another over the time that one of their answers takes, so that they keep no step: waves of a thousand streams that
 * begin and end at once would move memory by more than what is looked for.
 */
function startLoad({ binaries, directory, url, key, secs, warm, streams }: LoadOptions) {
  const aborting = Math.round(streams / 5)
  const kinds = [
    { name: 'staying', stub: SOAK_STUBS.paced, lastsMs: 30_000, words: ['-c', String(streams - aborting)] },
    {
      name: 'hanging up',
      stub: SOAK_STUBS.paced,
      lastsMs: 3_000,
      words: ['-c', String(aborting), '-a', '3000'],
    },
    {
      name: 'slow',
      stub: SOAK_STUBS.long,
      lastsMs: 60_000,
      words: ['-c', String(SLOW_READERS), '-s', '2048'],
    },
  ]
  return kinds.map(({ name, stub, lastsMs, words }) => {
    const ramp = ['-r', String(Math.min(lastsMs, warm * 1000))]
    const call = callOf('chat', SCENARIOS.paced, modelName('messages', stub))
    const body = join(directory, `${name.replace(' ', '-')}.json`)
    const file = Bun.write(body, call.body)
    const command = [join(binaries, 'load'), ...words, ...ramp, '-d', String(secs), '-f', body]
    const ended = file.then(() => {
      const child = Bun.spawn([...command, '-H', `authorization: Bearer ${key}`, url + call.path], {
        stdout: 'pipe',
        stderr: 'inherit',
      })
      return new Response(child.stdout).text()
    })
    return { name, ended }
  })
}

const EVERY_MS = 2_000

async function readWhile(gateway: RunningServer, end: Promise<unknown>): Promise<Reading[]> {
  const readings: Reading[] = []
  const startedAt = performance.now()
  let isOver = false
  void end.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await Bun.sleep(EVERY_MS)
    const { own } = processTree(gateway.pid)
    readings.push({
      seconds: (performance.now() - startedAt) / 1000,
      memoryMb: memoryMb(own),
      descriptors: descriptors(own),
      delayMs: await loopDelayMs(gateway),
    })
  }
  return readings
}

async function loopDelayMs({ readyUrl }: RunningServer): Promise<number> {
  const metrics = await (await fetch(new URL('/metrics', readyUrl))).text()
  const seconds = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics)?.[1]
  if (seconds === undefined) throw new Error('/metrics says nothing of the event loop')
  return Number(seconds) * 1000
}

function judge(readings: readonly Reading[], before: number, after: number, load: Result['load']): Result {
  const delays = readings.map(({ delayMs }) => delayMs)
  const result = {
    slopeMbPerMinute: slope(readings) * 60,
    memoryMb: { first: readings.at(0)?.memoryMb ?? 0, last: readings.at(-1)?.memoryMb ?? 0 },
    descriptors: { before, during: median(readings.map(reading => reading.descriptors)), after },
    loopDelayMs: { p50: median(delays), worst: Math.max(...delays) },
    load,
  }
  const isFlat =
    result.slopeMbPerMinute <= MAX_SLOPE_MB &&
    after <= before + KEPT_CONNECTIONS &&
    result.loopDelayMs.p50 <= MAX_DELAY_MS &&
    load.every(({ report }) => report['errors'] === 0 && report['non200'] === 0)
  return { isFlat, ...result }
}

/** Idle connections to the upstream that Bun keeps. */
const KEPT_CONNECTIONS = 64

/** MB per second of the line that is nearest to the readings. */
function slope(readings: readonly Reading[]): number {
  const mean = (of: (reading: Reading) => number) =>
    readings.reduce((sum, reading) => sum + of(reading), 0) / readings.length
  const seconds = mean(reading => reading.seconds)
  const memory = mean(reading => reading.memoryMb)
  const covariance = mean(reading => (reading.seconds - seconds) * (reading.memoryMb - memory))
  return covariance / mean(reading => (reading.seconds - seconds) ** 2)
}

function describe(result: Result): string {
  const { slopeMbPerMinute, memoryMb: memory, descriptors: open, loopDelayMs: delay } = result
  return [
    `memory: ${slopeMbPerMinute.toFixed(2)} MB a minute, ${memory.first.toFixed(0)} MB after the warm-up, ${memory.last.toFixed(0)} MB at the end`,
    `descriptors: ${open.before} before, ${open.during} during, ${open.after} after`,
    `event loop's delay, p99 of every ${EVERY_MS / 1000} s: ${delay.p50.toFixed(1)} ms in the middle, ${delay.worst.toFixed(1)} ms at worst`,
    ...result.load.map(({ name, report }) => `${name}: ${JSON.stringify(report)}`),
    result.isFlat ? 'flat' : 'NOT FLAT',
  ].join('\n')
}
