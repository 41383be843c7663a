import { parseArgs } from 'node:util'
import { bench, do_not_optimize, run } from 'mitata'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { createSseParser } from '@/sse/parser.ts'
import { EventSplitter } from '@/sse/splitter.ts'
import { bucketTakes, ledgerCycles, type Measured } from './admission.ts'
import { conversion, decoding, deltaBytes, encoding } from './deltas.ts'
import { keyCheck } from './keys.ts'
import { parsing, renaming, rewriting, SIZES } from './requests.ts'

const USAGE = `bun tests/bench/micro.ts [options]: what the parts of the hot path cost, one by one

  --only TEXT  benchmarks whose name holds this
  --json       one JSON value on stdout, name: { min_ns, p50_ns, p99_ns }
  --help

"convert A upstream to B caller" is one text delta, from the bytes of an upstream to those for a caller.`

const SHORT: Record<Format, string> = {
  'openai-chat-completions': 'chat',
  'openai-responses': 'responses',
  'anthropic-messages': 'messages',
  'gemini-generate-content': 'gemini',
}

const KINDS = ['text', 'tool'] as const

/** Every ordered pair of two formats. */
const PAIRS = FORMATS.flatMap(from => FORMATS.filter(to => to !== from).map(to => [from, to] as const))

function defineFraming(): void {
  const one = deltaBytes('openai-chat-completions')
  const many = Buffer.concat(Array.from({ length: 16 }, () => one))
  for (const [name, chunk] of [
    ['one event', one],
    ['16 events', many],
  ] as const) {
    const splitter = new EventSplitter(1 << 20)
    const parser = createSseParser()
    bench(`splitter, ${name}`, () => splitter.push(chunk, do_not_optimize))
    bench(`parser, ${name}`, () => parser.push(chunk, do_not_optimize))
  }
}

function defineDeltas(): void {
  for (const kind of KINDS) {
    for (const format of FORMATS) {
      bench(`decode ${SHORT[format]} ${kind}`, decoding(format, kind))
      bench(`encode ${SHORT[format]} ${kind}`, encoding(format, kind))
    }
  }
  for (const [from, to] of PAIRS)
    bench(`convert ${SHORT[from]} upstream to ${SHORT[to]} caller`, conversion(from, to))
}

function defineRequests(): void {
  for (const [size, bytes] of Object.entries(SIZES)) {
    bench(`request ${size}, JSON.parse alone`, parsing(bytes))
    bench(`request ${size}, spliceJson of the model`, renaming(bytes))
    for (const [from, to] of PAIRS) {
      bench(`request ${size}, ${SHORT[from]} to ${SHORT[to]}`, rewriting(from, to, bytes))
    }
  }
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** How many exchanges begin and end together. */
const CYCLES = [1, 64, 512]

/** What has servers behind it; none is started for a benchmark that was not asked for. */
async function defineAdmission(only: string | undefined): Promise<Measured[]> {
  const wants = (subject: string) => only === undefined || only.startsWith(subject) || subject.includes(only)
  const measured = [
    ...(wants('limits') ? await bucketTakes() : []),
    ...(wants('ledger') ? await ledgerCycles(CYCLES) : []),
  ]
  for (const { name, step } of measured) bench(name, step)
  return measured
}

if (values.help) console.log(USAGE)
else {
  defineFraming()
  defineDeltas()
  defineRequests()
  bench('key check, known key', keyCheck())
  const admission = await defineAdmission(values.only)
  const filter = values.only === undefined ? /^/ : new RegExp(RegExp.escape(values.only))
  if (values.json) {
    const { benchmarks } = await run({ format: 'quiet', filter })
    const rows = benchmarks.map(({ alias, runs }) => {
      const stats = runs[0]?.stats
      return [alias, { min_ns: stats?.min, p50_ns: stats?.p50, p99_ns: stats?.p99 }]
    })
    console.log(JSON.stringify(Object.fromEntries(rows)))
  } else await run({ filter })
  for (const { close } of admission) await close()
  await closeTestServer()
}
