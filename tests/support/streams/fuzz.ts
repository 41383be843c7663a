import { pick, type Random, randomOf } from '#tests/support/random.ts'
import { createRaiser, decodeContext, replyContext, requestAs } from '#tests/transcripts/conversion.ts'
import { type Recording, recordings } from '#tests/transcripts/recording.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { HubPipeline } from '@/exchange/relay/hub-pipeline.ts'
import { PassthroughPipeline } from '@/exchange/relay/passthrough-pipeline.ts'
import type { Pipeline } from '@/exchange/relay/pipeline.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { isDeeperThan } from '@/json/depth.ts'
import type { JsonValue } from '@/json/json.ts'
import { unlawful } from './lawful.ts'

/** What a mutated stream did that it must not do. */
export interface Finding {
  seed: number
  recording: string
  upstream: Format
  caller: Format
  what: string
}

/** Longest time one stream may take, far above what the slowest needs: beyond it something hangs. */
const HANG_MS = 2000
/** Most bytes that may come of one byte of the upstream's, give or take a beginning and an end. */
const GROWTH = 200
const SLACK_BYTES = 200_000

const CASES = recordings()
const CONTEXTS = new Map<Recording, Map<Format, ReplyContext>>()

/** Sends one mutated recording through a decoder of some format and on to a caller of some format. */
export function fuzzOnce(seed: number): Finding | undefined {
  const random = randomOf(seed)
  const recorded = pick(CASES, random)
  const upstream = random(8) === 0 ? pick(FORMATS, random) : recorded.format
  const caller = pick(FORMATS, random)
  const context = contextOf(recorded, caller)
  const pipeline = context && pipelineOf(upstream, caller, context)
  if (context === undefined || pipeline === undefined) return undefined
  const stream = mutate(recorded.stream, random)
  const found = (what: string): Finding => ({
    seed,
    recording: `${recorded.format}/${recorded.name}`,
    upstream,
    caller,
    what,
  })
  const start = process.cpuUsage()
  try {
    const written = run(pipeline, stream, random)
    const ms = process.cpuUsage(start).user / 1000
    if (ms > HANG_MS) return found(`took ${Math.round(ms)} ms`)
    if (written.length > stream.length * GROWTH + SLACK_BYTES) return found(`grew to ${written.length} bytes`)
    const text = written.toString('utf8')
    const broken = upstream === caller ? badEnd(pipeline, text, context) : unlawful(caller, text)
    return broken[0] === undefined ? undefined : found(broken.join('; '))
  } catch (error) {
    return found(error instanceof Error ? `${error.stack}` : String(error))
  }
}

/** In passthrough the grammar is the upstream's own business, but for how the stream ends. */
function badEnd({ meter }: Pipeline, text: string, { requestId }: ReplyContext): string[] {
  if (meter.error === undefined) return meter.finished ? [] : ['ended in neither an end nor an error']
  return text
    .trimEnd()
    .split(/\r?\n\r?\n/)
    .at(-1)
    ?.includes(requestId)
    ? []
    : ['the error is not told']
}

function contextOf(recorded: Recording, caller: Format): ReplyContext | undefined {
  let contexts = CONTEXTS.get(recorded)
  if (contexts === undefined) {
    contexts = new Map()
    for (const format of FORMATS) {
      const asked = requestAs(recorded, format)
      if (!(asked instanceof GatewayError)) contexts.set(format, replyContext(format, asked.lowered.body))
    }
    CONTEXTS.set(recorded, contexts)
  }
  return contexts.get(caller)
}

/** Undefined where this upstream could not serve the caller's request, so that no answer of it ever comes. */
function pipelineOf(upstream: Format, caller: Format, context: ReplyContext): Pipeline | undefined {
  const codec = CODECS[upstream]
  const decoder = codec.createStreamDecoder({ ...decodeContext(upstream), isPassed: upstream === caller })
  if (upstream === caller) {
    const { requestId } = context
    return new PassthroughPipeline({
      codec,
      decoder,
      requestId,
      hidesUsage: false,
      readsAll: false,
      chunksOnly: false,
      framer: undefined,
    })
  }
  const encoder = CODECS[caller].createStreamEncoder(context)
  const raiser = refusedAs(() => createRaiser(upstream, caller, context.wire))
  if (raiser instanceof GatewayError) return undefined
  return new HubPipeline({
    decoder,
    raiser,
    encoder,
    framer: undefined,
    caller: CODECS[caller],
    count: () => undefined,
  })
}

function refusedAs<T>(make: () => T): T | GatewayError {
  try {
    return make()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** As the outlet does: reads of any size, nothing more after an error, and an end. */
function run(pipeline: Pipeline, stream: Buffer, random: Random): Buffer {
  const written: Buffer[] = []
  const emit = (bytes: Uint8Array) => {
    written.push(Buffer.from(bytes))
  }
  for (let at = 0; at < stream.length && pipeline.meter.error === undefined; ) {
    const size = 1 + random(random(3) === 0 ? 40 : 4000)
    pipeline.push(stream.subarray(at, at + size), emit)
    at += size
  }
  if (pipeline.meter.error === undefined) pipeline.end(emit)
  return Buffer.concat(written)
}

type Mutation = (stream: Buffer, random: Random) => Buffer

/** One to three mutations, one after another. */
export function mutate(stream: Buffer, random: Random): Buffer {
  let mutated = stream
  for (let count = 1 + random(3); count > 0; count -= 1) mutated = pick(MUTATIONS, random)(mutated, random)
  return mutated
}

const MUTATIONS: readonly Mutation[] = [
  (stream, random) => stream.subarray(0, random(stream.length + 1)),
  onEvents((events, random) => events.splice(random(events.length + 1), 1)),
  onEvents((events, random) => events.splice(random(events.length + 1), 0, pick(events, random))),
  onEvents((events, random) =>
    events.splice(random(events.length), 0, ...events.splice(random(events.length), 1)),
  ),
  onEvents((events, random) => {
    const [a, b] = [random(events.length), random(events.length)]
    ;[events[a], events[b]] = [events[b] ?? '', events[a] ?? '']
  }),
  onEvents((events, random) => {
    const other = eventsOf(pick(CASES, random).stream)
    events.splice(random(events.length + 1), random(3), ...other.slice(0, 1 + random(other.length)))
  }),
  garbage,
  onJson(wrongType),
  onJson(wrongType),
  onJson(wrongType),
  onJson(dropKey),
  onJson(nested),
  onJson(swapValues),
]

function eventsOf(stream: Buffer): string[] {
  return stream.toString('utf8').split(/(?<=\r?\n\r?\n)/)
}

function onEvents(change: (events: string[], random: Random) => unknown): Mutation {
  return (stream, random) => {
    const events = eventsOf(stream)
    change(events, random)
    return Buffer.from(events.join(''))
  }
}

function garbage(stream: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(stream)
  for (let count = 1 + random(8); count > 0 && bytes.length > 0; count -= 1) {
    bytes[random(bytes.length)] = pick([0, 10, 13, 34, 44, 58, 92, 123, 125, 0xff, 0xc3, random(256)], random)
  }
  return bytes
}

/** A change to a place in the JSON of one event. */
type JsonChange = (places: readonly Place[], random: Random) => void

interface Place {
  value: JsonValue
  set(value: JsonValue): unknown
  remove(): unknown
}

function onJson(change: JsonChange): Mutation {
  return onEvents((events, random) => {
    const at = random(events.length)
    const event = events[at] ?? ''
    const data = /data: ?(\{.*\})/.exec(event)?.[1]
    if (data === undefined) return
    let root: JsonValue
    try {
      root = JSON.parse(data)
    } catch {
      return
    }
    if (isDeeperThan(root, 100)) return
    const places = placesOf(root)
    if (places.length === 0) return
    change(places, random)
    const depth = pick([3, 50, 5000, 50_000], random)
    const deep =
      random(2) === 0
        ? '['.repeat(depth) + ']'.repeat(depth)
        : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    const text = JSON.stringify(root).replace(JSON.stringify(DEEP), () => deep)
    events[at] = event.replace(data, () => text)
  })
}

function placesOf(value: JsonValue): Place[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]): Place[] => {
    const place: Place = {
      value: inner ?? null,
      set: changed => Reflect.set(value, key, changed),
      remove: () => Reflect.deleteProperty(value, key),
    }
    return [place, ...placesOf(inner ?? null)]
  })
}

function wrongType(places: readonly Place[], random: Random): void {
  pick(places, random).set(pick(ODD_VALUES, random))
}

const ODD_VALUES: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  0.5,
  2 ** 53,
  '',
  'x',
  '\ud800',
  '\ud83d',
  '{}',
  '{"a":',
  'constructor',
  [],
  [[]],
  [null],
  ['x'],
  [{}],
  {},
  { type: 'text' },
  { __proto__: null, error: 'x' },
  { text: {} },
]

function dropKey(places: readonly Place[], random: Random): void {
  pick(places, random).remove()
}

/** Stands for a value deeper than anything that recursion could write. */
const DEEP = '@deep@'

function nested(places: readonly Place[], random: Random): void {
  pick(places, random).set(DEEP)
}

function swapValues(places: readonly Place[], random: Random): void {
  const [a, b] = [pick(places, random), pick(places, random)]
  const value = a.value
  a.set(JSON.parse(JSON.stringify(b.value)))
  b.set(JSON.parse(JSON.stringify(value)))
}
