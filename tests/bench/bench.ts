import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import bounds from './bounds.json'
import { build, missingPrograms } from './build.ts'
import { type LoadOptions, measure, median, type Sample } from './measure.ts'
import { profile } from './profile.ts'
import { figureOf, leastRatio, type Results, table } from './report.ts'
import { agentText, isScenario, SCENARIO_NAMES, SCENARIOS, type ScenarioName } from './scenarios.ts'
import { type RunningServer, startStub } from './servers.ts'
import { soak } from './soak.ts'
import { BASELINE, createTargets, FLOOR, readPairs, type Server, type Target } from './targets.ts'
import type { Deployment, Stores } from './tollgate.ts'

const USAGE = `bun run bench [options]: what Tollgate costs beside nginx and a bare Bun proxy
bun run bench soak [options]: whether it stays flat under load; see --help there
bun run bench profile [options]: what its main thread does, function by function; see --help there

  --scenarios a,b  of ${SCENARIO_NAMES.join(', ')}; all
  --pairs a>b,...  conversions, caller>upstream, of chat, responses, messages, gemini; "all": all sixteen
  --only a,b       targets whose name begins with one of these (nginx is always there)
  --rounds N       interleaved rounds, of which medians are taken; 3
  --secs N         seconds of each run; 3
  --warm N         seconds that each target runs for nothing first, so that the compiler is done with it; 6
  --workers a,b    how many workers the gateway on DATABASE_URL and REDIS_URL has, a target for each; 1
  --json           one JSON value on stdout; the table goes to stderr
  --short          the form for CI: seconds, ratios only, against tests/bench/bounds.json
  --help

Beside the embedded default, DATABASE_URL and REDIS_URL in the environment add a gateway on those: in a database of
its own that is dropped at the end. The process ends with 1 on a failed answer, or with --short on a regression.`

interface Options {
  scenarios: readonly ScenarioName[]
  pairs: ReturnType<typeof readPairs>
  only: readonly string[] | undefined
  rounds: number
  secs: number
  warm: number
  workers: readonly number[]
  json: boolean
  short: boolean
}

/** A run that is over. */
interface Run {
  results: Results
  targets: readonly Target[]
  /** Later starts of gateways until ready, in ms. */
  startsMs: readonly number[]
}

async function main(): Promise<number> {
  let options: Options | undefined
  try {
    options = readOptions()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
    return 2
  }
  if (options === undefined) return 0
  const missing = missingPrograms()
  if (missing.length > 0) {
    for (const line of missing) console.error(line)
    return 2
  }
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  try {
    const run = await compare(options, directory, build())
    const tell = options.json ? console.error : console.log
    for (const line of describe(run, options)) tell(line)
    if (options.json) console.log(JSON.stringify(summary(run, options)))
    return options.short ? judge(run.results) : failures(run.results) > 0 ? 1 : 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Those whose cost a few seconds show, however busy the machine is: a paced stream's begins with 400 requests at once. */
const SHORT = ['plain', 'burst']

function readOptions(): Options | undefined {
  const { values } = parseArgs({
    options: {
      scenarios: { type: 'string' },
      pairs: { type: 'string' },
      only: { type: 'string' },
      rounds: { type: 'string' },
      secs: { type: 'string' },
      warm: { type: 'string' },
      workers: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return undefined
  }
  const { short, json } = values
  const scenarios = values.scenarios?.split(',') ?? (short ? SHORT : SCENARIO_NAMES)
  return {
    scenarios: scenarios.map(name => {
      if (isScenario(name)) return name
      throw new Error(`no scenario ${name}; there are ${SCENARIO_NAMES.join(', ')}`)
    }),
    pairs: readPairs(values.pairs ?? (short ? 'chat>chat,chat>messages' : undefined)),
    only: values.only?.split(',') ?? (short ? ['tollgate'] : undefined),
    rounds: Number(values.rounds ?? (short ? 5 : 3)),
    secs: Number(values.secs ?? (short ? 1 : 3)),
    warm: Number(values.warm ?? (short ? 1 : 6)),
    workers: values.workers.split(',').map(Number),
    json,
    short,
  }
}

async function compare(options: Options, directory: string, binaries: string): Promise<Run> {
  const stub = await startStub(join(binaries, 'stub'))
  let deployments: readonly Deployment[] = []
  try {
    const created = await createTargets({
      directory,
      stub,
      pairs: options.pairs,
      stores: stores(),
      workers: options.workers,
    })
    deployments = created.deployments
    const targets = created.targets.filter(target => isWanted(target, options))
    const results: Results = {}
    const startsMs: number[] = []
    for (const scenario of options.scenarios) {
      progress(`${scenario}: ${SCENARIOS[scenario].title}`)
      results[scenario] = await rounds(scenario, targets, options, { directory, binaries }, startsMs)
    }
    return { results, targets, startsMs }
  } finally {
    await stub.stop()
    for (const deployment of deployments) await deployment.remove()
  }
}

function stores(): Record<string, Stores> {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = process.env
  const embedded = { tollgate: 'embedded' } as const
  if (!databaseUrl || !redisUrl) return embedded
  return { ...embedded, 'tollgate on Postgres and Redis,': { databaseUrl, redisUrl } }
}

function isWanted({ name }: Target, { only }: Options): boolean {
  return only === undefined || name === BASELINE || only.some(prefix => name.startsWith(prefix))
}

/** Runs a scenario on all of its targets in turn, round after round, so that a noisy minute hits all of them. */
async function rounds(
  name: ScenarioName,
  targets: readonly Target[],
  options: Options,
  places: Pick<LoadOptions, 'directory' | 'binaries'>,
  startsMs: number[],
): Promise<Record<string, Sample[]>> {
  const scenario = SCENARIOS[name]
  const asked = targets.filter(target => !(scenario.few && target.isExtra))
  const samples: Record<string, Sample[]> = Object.fromEntries(asked.map(target => [target.name, []]))
  const pool = new Pool(startsMs)
  const run = async (target: Target, secs: number) =>
    measure(await pool.get(target.server), scenario, target.call(scenario), {
      ...places,
      secs,
      headers: target.headers,
    })
  try {
    // Memory is measured on fresh processes, everything else on warm ones.
    const isFresh = scenario.figure === 'memory'
    if (!isFresh) for (const target of asked) await run(target, options.warm)
    for (let round = 0; round < options.rounds; round += 1) {
      for (const target of asked) {
        samples[target.name]?.push(await run(target, 'secs' in scenario ? scenario.secs : options.secs))
        if (isFresh) await pool.stop()
      }
    }
  } finally {
    await pool.stop()
  }
  return samples
}

/** The servers that run at the moment. */
class Pool {
  readonly #running = new Map<Server, RunningServer>()
  readonly #startsMs: number[]

  constructor(startsMs: number[]) {
    this.#startsMs = startsMs
  }

  async get(server: Server): Promise<RunningServer> {
    const found = this.#running.get(server)
    if (found !== undefined) return found
    const started = await server.start()
    this.#running.set(server, started)
    if (server.isGateway) this.#startsMs.push(started.startMs)
    return started
  }

  async stop(): Promise<void> {
    for (const server of this.#running.values()) await server.stop()
    this.#running.clear()
  }
}

function describe({ results, targets, startsMs }: Run, { scenarios, rounds, secs }: Options): string[] {
  const names = targets.map(target => target.name)
  const lines = [
    `Bun ${Bun.version}, medians of ${rounds} interleaved rounds of ${secs} s; (×) is to ${BASELINE}.`,
    table(results, scenarios, names),
  ]
  if (scenarios.includes('megabyte'))
    lines.push(`JSON.parse of the 1 MB request: ${Math.round(parseUs())} µs`)
  if (startsMs.length > 0) {
    lines.push(`A gateway's later start until ready: ${Math.round(median(startsMs))} ms`)
  }
  return lines.flatMap(line => ['', line])
}

function summary({ results, targets, startsMs }: Run, options: Options): object {
  const figures = options.scenarios.map(scenario => [
    scenario,
    Object.fromEntries(targets.map(({ name }) => [name, figureOf(results, scenario, name) ?? null])),
  ])
  return {
    bun: Bun.version,
    rounds: options.rounds,
    secs: options.secs,
    baseline: BASELINE,
    floor: FLOOR,
    figures: Object.fromEntries(figures),
    later_start_ms: median(startsMs),
    parse_1_mb_us: parseUs(),
    samples: results,
  }
}

/** CPU of one JSON.parse of the megabyte scenario's request, which its cost is compared with. */
function parseUs(): number {
  const text = JSON.stringify({
    messages: [{ role: 'user', content: agentText(SCENARIOS.megabyte.textBytes) }],
  })
  const times = Array.from({ length: 30 }, () => {
    const start = process.cpuUsage()
    JSON.parse(text)
    const { user, system } = process.cpuUsage(start)
    return user + system
  })
  return median(times)
}

/** More than this times the recorded ratio is a regression; a noisy machine stays below it. */
const REGRESSION = 2

function judge(results: Results): number {
  let wrong = 0
  for (const [scenario, targets] of Object.entries<Record<string, number>>(bounds)) {
    for (const [target, ratio] of Object.entries(targets)) {
      if (!isScenario(scenario)) throw new Error(`bounds.json names no scenario: ${scenario}`)
      const found = leastRatio(results, scenario, target)
      if (found === undefined) continue
      const isFine = found <= ratio * REGRESSION
      if (!isFine) wrong += 1
      progress(
        `${isFine ? 'ok  ' : 'FAIL'} ${scenario}, ${target}: ${found.toFixed(2)} × ${BASELINE} at the least, recorded ${ratio}`,
      )
    }
  }
  return wrong === 0 ? 0 : 1
}

function failures(results: Results): number {
  const samples = Object.values(results).flatMap(targets => Object.values(targets).flat())
  return samples.reduce((sum, sample) => sum + sample.failures, 0)
}

function progress(line: string): void {
  console.error(line)
}

const [command, ...words] = process.argv.slice(2)
process.exitCode =
  command === 'soak' ? await soak(words) : command === 'profile' ? await profile(words) : await main()
