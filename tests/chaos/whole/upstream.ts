import { eventStream, scriptedUpstream } from '#tests/support/upstreams/upstream.ts'
import { type Films, openFilms } from './films.ts'
import { isConversation, PROMPT_TOKENS, type Surface, textOf, WIRES, type Wire } from './wire.ts'

/** What an upstream does when it is asked first; asked again for the same answer it gives a whole one. */
export const BEHAVIOURS = [
  'good',
  'nousage',
  /** After half of its events: its connection breaks, it falls silent, it says that it has failed. */
  'break',
  'stall',
  'fail',
  /** Before any of it. */
  '500',
  '429',
  '400',
  'mute',
] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

/** Whether its answers come to their end. */
export function isGood(behaviour: string): boolean {
  return behaviour === 'good' || behaviour === 'nousage'
}

/** What a caller has its upstream say. */
export interface Script {
  events: number
  /** Tokens of each event. */
  each: number
  /** Between two events. */
  paceMs: number
  behaviour: Behaviour
}

/** One request that came to the upstream; times by performance.now(). */
export class Attempt {
  readonly does: string
  /** By whose key it came. */
  readonly channel: string
  readonly at = performance.now()
  endedAt = Number.POSITIVE_INFINITY
  /** Tokens that were sent of the answer so far. */
  sent = 0
  /** All of it was sent; of a film, that it is made. */
  isWhole = false

  constructor(does: string, channel: string) {
    this.does = does
    this.channel = channel
  }

  /** Whether it comes to its end, if nobody leaves before. */
  get isGood(): boolean {
    return isGood(this.does)
  }

  /** Whether the answer tells its usage. */
  get isReported(): boolean {
    return this.does !== 'nousage'
  }

  end(isWhole = false): void {
    this.isWhole ||= isWhole
    this.endedAt = Math.min(this.endedAt, performance.now())
  }
}

/** The vendor of the simulation: it speaks all four formats and knows what it has sent for whom. */
export interface Vendor {
  url: string
  /** By the name of the call. */
  attempts: ReadonlyMap<string, readonly Attempt[]>
  /** Events that were sent in all. */
  events(): number
  stop(): Promise<void>
}

export function promptOf(name: string, { events, each, paceMs, behaviour }: Script): string {
  return `[${name} ${events} ${each} ${paceMs} ${behaviour}]`
}

export function openVendor(): Vendor {
  const attempts = new Map<string, Attempt[]>()
  const films = openFilms()
  const counter = { events: 0 }
  const upstream = scriptedUpstream(async ({ method, path, headers, body }, signal) => {
    if (method !== 'POST') return films.lookAt(path.split('/').at(-1) ?? '')
    const text = new TextDecoder().decode(body)
    const [, name = '', events, each, paceMs, behaviour = 'good'] =
      /\[([\w-]+) (\d+) (\d+) (\d+) (\w+)\]/.exec(text) ?? []
    const known = attempts.get(name) ?? []
    const does = known.length === 0 || behaviour === 'nousage' ? behaviour : 'good'
    const attempt = new Attempt(does, channelOf(headers))
    attempts.set(name, [...known, attempt])
    signal.addEventListener('abort', () => attempt.end())
    if (attempt.does === 'mute') await left(signal)
    if (/^\d/.test(attempt.does)) {
      attempt.end()
      const error = { message: 'no', type: 'x', code: Number(attempt.does), status: 'x' }
      return Response.json({ type: 'error', error }, { status: Number(attempt.does) })
    }
    const script = { events: Number(events), each: Number(each), paceMs: Number(paceMs) }
    const surface = surfaceOf(path)
    if (!isConversation(surface)) return inOne(surface, script, attempt, films)
    // An honest vendor says no more than it was allowed to.
    const most = /"(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens)":\s*(\d+)/.exec(
      text,
    )
    const all = script.events * script.each
    const total = Math.min(all, Number(most?.[1] ?? all))
    const said = { text: textOf(total), usage: attempt.isReported ? total : undefined, isCut: total < all }
    const pieces = piecesOf(attempt, { ...script, total }, signal, counter)
    const isStreamed = /"stream":\s*true/.test(text) || path.includes('stream')
    return (isStreamed ? flowing : atOnce)(WIRES[surface], said, pieces, attempt, signal)
  })
  return { url: upstream.url, attempts, events: () => counter.events, stop: upstream.stop }
}

/** What is no conversation: an embedding, a picture, or a film, which is only begun. */
async function inOne(
  surface: Surface,
  { events, paceMs }: { events: number; paceMs: number },
  attempt: Attempt,
  films: Films,
): Promise<Response> {
  await Bun.sleep(paceMs)
  if (surface === 'videos') return films.begin(attempt, events)
  attempt.end(attempt.isGood)
  if (!attempt.isGood) return new Response(null, { status: 500 })
  return Response.json(surface === 'images' ? PICTURE : EMBEDDING)
}

interface Said {
  text: string
  usage: number | undefined
  isCut: boolean
}

/** Tokens of one event after the other, up to where it breaks off. */
async function* piecesOf(
  attempt: Attempt,
  { events, each, paceMs, total }: { events: number; each: number; paceMs: number; total: number },
  signal: AbortSignal,
  counter: { events: number },
): AsyncGenerator<number> {
  const half = Math.ceil(events / 2)
  for (let event = 0; attempt.sent < total && !signal.aborted; event += 1) {
    if (event === half && attempt.does === 'stall') await left(signal)
    if (event === half && !attempt.isGood) return
    const tokens = Math.min(each, total - attempt.sent)
    attempt.sent += tokens
    counter.events += 1
    yield tokens
    await Bun.sleep(paceMs)
  }
}

async function atOnce(
  wire: Wire,
  { text, usage, isCut }: Said,
  pieces: AsyncGenerator<number>,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Response> {
  for await (const _ of pieces);
  const isDone = attempt.isGood && !signal.aborted
  attempt.end(isDone)
  if (isDone) return Response.json(wire.whole(text, usage, isCut))
  const broken = streamOf(async function* () {
    yield '{"id":'
    await Bun.sleep(1)
    throw new Error('broken')
  })
  return new Response(broken, { headers: { 'content-type': 'application/json' } })
}

function flowing(
  wire: Wire,
  { text, usage, isCut }: Said,
  pieces: AsyncGenerator<number>,
  attempt: Attempt,
  signal: AbortSignal,
): Response {
  return eventStream(
    streamOf(async function* () {
      yield wire.head
      for await (const tokens of pieces) yield wire.delta(textOf(tokens))
      const isDone = attempt.isGood && !signal.aborted
      attempt.end(isDone)
      if (attempt.does === 'fail') yield wire.error
      if (attempt.does === 'break') throw new Error('broken')
      if (isDone) yield wire.end(text, usage, isCut)
    }),
  )
}

const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key']

function channelOf(headers: Headers): string {
  const key = KEY_HEADERS.map(name => headers.get(name)).find(value => value !== null)
  return key?.split('secret-of-')[1] ?? ''
}

const EMBEDDING = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  model: 'm',
  usage: { prompt_tokens: PROMPT_TOKENS, total_tokens: PROMPT_TOKENS },
}
const PICTURE = { created: 1, data: [{ b64_json: 'AAAA' }] }

function surfaceOf(path: string): Surface {
  if (path.includes('embeddings')) return 'embeddings'
  if (path.includes('images')) return 'images'
  if (path.includes('videos')) return 'videos'
  if (path.includes('responses')) return 'responses'
  if (path.includes('messages')) return 'messages'
  return path.includes('enerateContent') ? 'gemini' : 'chat'
}

/** Resolves when the other side has left. */
function left(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

function streamOf(write: () => AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const texts = write()
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await texts.next()
        if (done === true) controller.close()
        else if (value !== '') controller.enqueue(encoder.encode(value))
        else await this.pull?.(controller)
      } catch {
        controller.error(null)
      }
    },
  })
}
