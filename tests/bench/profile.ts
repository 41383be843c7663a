import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build, missingPrograms } from './build.ts'
import { CallTree } from './call-tree.ts'
import { JitDump } from './jit-dump.ts'
import { threadCpuUs } from './machine.ts'
import { measure } from './measure.ts'
import { callOf, isScenario, SCENARIO_NAMES, SCENARIOS, type ScenarioName } from './scenarios.ts'
import { startStub } from './servers.ts'
import { readPairs } from './targets.ts'
import { deploy, modelName } from './tollgate.ts'

const USAGE = `bun run bench profile [options]: what the gateway's main thread does, function by function

  --scenario S  one of ${SCENARIO_NAMES.join(', ')}; plain
  --pair A>B    the conversion, caller>upstream; chat>chat
  --warm N      seconds for nothing first, so that the compiler is done; 12
  --secs N      seconds that are looked at; 6
  --least N     functions that took less than so many µs a unit are left out; 0.5
  --help

Prints CPU µs for each whole answer, or each chunk of a stream, by thread, and the main thread's as a tree of our
functions, each with what Bun's own code and the kernel did for it. Looking costs some of that itself.`

const SAMPLES_PER_S = 10_000

interface Options {
  scenario: ScenarioName
  pair: string
  warm: number
  secs: number
  least: number
}

export async function profile(words: string[]): Promise<number> {
  let options: Options | undefined
  try {
    options = readOptions(words)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
    return 2
  }
  if (options === undefined) return 0
  const missing = missingPrograms({ perf: 'linux-perf' })
  for (const line of missing) console.error(line)
  if (missing.length > 0) return 2
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-profile-'))
  try {
    for (const line of await run(options, directory)) console.log(line)
    return 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function readOptions(words: string[]): Options | undefined {
  const { values } = parseArgs({
    args: words,
    options: {
      scenario: { type: 'string', default: 'plain' },
      pair: { type: 'string', default: 'chat>chat' },
      warm: { type: 'string', default: '12' },
      secs: { type: 'string', default: '6' },
      least: { type: 'string', default: '0.5' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return undefined
  }
  const { scenario, pair, warm, secs, least } = values
  if (!isScenario(scenario)) throw new Error(`no scenario ${scenario}`)
  return { scenario, pair, warm: Number(warm), secs: Number(secs), least: Number(least) }
}

async function run(options: Options, directory: string): Promise<string[]> {
  const { secs, warm } = options
  const scenario = SCENARIOS[options.scenario]
  const [pair] = readPairs(options.pair)
  if (pair === undefined) throw new Error('no pair')
  const dumps = join(directory, 'compiled')
  mkdirSync(dumps)
  const binaries = build()
  const stub = await startStub(join(binaries, 'stub'))
  const deployment = await deploy(directory, stub.url, 'embedded')
  const gateway = await deployment.start(1, {
    BUN_JSC_useJITDump: '1',
    BUN_JSC_jitDumpDirectory: dumps,
  })
  try {
    const call = callOf(pair.caller, scenario, modelName(pair.upstream, scenario.stub))
    const load = { binaries, directory, headers: { authorization: `Bearer ${deployment.key}` } }
    await measure(gateway, scenario, call, { ...load, secs: warm })
    const before = threadCpuUs(gateway.pid)
    const recorded = record(gateway.pid, secs, directory)
    const sample = await measure(gateway, scenario, call, { ...load, secs })
    const after = threadCpuUs(gateway.pid)
    const tree = new CallTree(new JitDump(largestOf(dumps)))
    await readSamples(await recorded, tree)
    const units = scenario.stream ? sample.chunks : sample.requests
    return [
      `${scenario.stream ? 'chunks' : 'answers'}: ${units} in ${secs} s, ${sample.failures} failed; CPU µs for each`,
      '',
      ...threadLines(before, after, units),
      '',
      ...tree.lines(options.least, 1e6 / SAMPLES_PER_S / units),
    ]
  } finally {
    await gateway.stop()
    await stub.stop()
    await deployment.remove()
  }
}

/** Samples the main thread with its stacks; resolves with the file. */
async function record(pid: number, secs: number, directory: string): Promise<string> {
  const file = join(directory, 'perf.data')
  const events = ['-e', 'cpu-clock', '-F', String(SAMPLES_PER_S), '-g', '-t', String(pid)]
  const command = ['perf', 'record', ...events, '-o', file, 'sleep', String(secs)]
  const perf = Bun.spawn(command, { stdout: 'ignore', stderr: 'pipe' })
  const said = await new Response(perf.stderr).text()
  if ((await perf.exited) !== 0) throw new Error(`perf record: ${said}`)
  return file
}

/** A sample is a stretch of lines with an empty one behind it. */
async function readSamples(file: string, tree: CallTree): Promise<void> {
  const perf = Bun.spawn(['perf', 'script', '-i', file, '-F', 'ip,sym,dso'], {
    stdout: 'pipe',
    stderr: 'ignore',
  })
  let frames: string[] = []
  for await (const line of linesOf(perf.stdout)) {
    if (line.trim() !== '') frames.push(line)
    else if (frames.length > 0) {
      tree.add(frames)
      frames = []
    }
  }
  tree.add(frames)
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  yield rest
}

/** Of the processes that the gateway began as, the one that it is: it compiled most. */
function largestOf(directory: string): Uint8Array {
  const files = readdirSync(directory).map(name => join(directory, name))
  const [largest] = files.sort((one, other) => statSync(other).size - statSync(one).size)
  if (largest === undefined) throw new Error('JavaScriptCore wrote down nothing of what it compiled')
  return readFileSync(largest)
}

function threadLines(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  units: number,
): string[] {
  return [...after]
    .map(([name, us]) => ({ name, us: (us - (before.get(name) ?? 0)) / units }))
    .filter(({ us }) => us >= 0.05)
    .sort((one, other) => other.us - one.us)
    .map(({ name, us }) => `${us.toFixed(2)}  ${name}`)
}
