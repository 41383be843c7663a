import type { Clock } from '@/clock/clock.ts'
import { pause } from '@/clock/wait.ts'
import { clientClosed, type Interruption } from '@/exchange/interruption.ts'
import { EventTrail } from '@/exchange/relay/event-trail.ts'
import { type BodyRead, pulledBody } from '@/exchange/relay/pulled-body.ts'
import { isEventStream } from '@/exchange/relay/reply.ts'
import { CODECS } from '@/formats/registry.ts'
import { type ConversationSurface, SURFACE_FORMAT } from '@/generation/surface.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import type { AnswerHead, RunStore, StoredChunk, StoredRun } from './store.ts'

/** Tells an answer that was given before; the name is Stripe's. */
const REPLAYED = 'idempotent-replayed'

/** How often the database is asked for more of an answer that still runs. */
const LOOK_MS = 100

/** Which run is replayed, and from where. */
interface ReplayOptions {
  store: RunStore
  box: SecretBox
  clock: Clock
  /** Until when the silence of its process is known to say something. */
  knownTo: () => number
  /** Of the one who waits: in whose format they are told of errors, and whether they may be given more. */
  surface: ConversationSurface
  interruption: Interruption
}

/**
 * The answer of a run that somebody else began, here or in another process: at once if it is there, along with the
 * first caller if it still flows. Undefined when there is none: the run failed before its answer began, or its process
 * died. One that flows is joined when it has been seen to move, so that nobody gets the half that a dead process left.
 */
export async function replay(run: StoredRun, options: ReplayOptions): Promise<Response | undefined> {
  const { store, knownTo, interruption } = options
  let found: StoredRun | undefined = run
  for (; interruption.reason === undefined; found = await store.find(run.id, knownTo())) {
    if (found === undefined) return undefined
    const moves = found.alive && found.pulse !== run.pulse
    if ((found.state === 'complete' || moves) && found.head !== undefined) {
      const reader = new ChunkReader(run.id, found.head, options)
      // Before the head is given: a database that goes away now can still be told in a status.
      await reader.look()
      return responseOf(found.head, reader)
    }
    if (!found.alive) return undefined
    await pause(LOOK_MS, options.clock)
  }
  return undefined
}

/** Whether an answer is one that was given before. */
export function isReplay(answer: Response): boolean {
  return answer.headers.has(REPLAYED)
}

function responseOf(head: AnswerHead, reader: ChunkReader): Response {
  const body = pulledBody(
    () => reader.next(),
    () => reader.leave(),
  )
  return new Response(body, {
    status: head.status,
    headers: { ...head.headers, [REPLAYED]: 'true' },
  })
}

/** Reads a run's body stretch by stretch, waiting for those that are not there yet. */
class ChunkReader {
  readonly #id: string
  readonly #head: AnswerHead
  readonly #options: ReplayOptions
  readonly #trail = new EventTrail()
  #seq = 0
  #read: StoredChunk[] = []
  #ending: StoredChunk['ending']

  constructor(id: string, head: AnswerHead, options: ReplayOptions) {
    this.#id = id
    this.#head = head
    this.#options = options
  }

  leave(): void {
    this.#options.interruption.interrupt(clientClosed())
  }

  /** Reads what is there. */
  async look(): Promise<void> {
    this.#read = await this.#options.store.chunks(this.#id, this.#seq)
  }

  /** The next bytes, or how the body ended. Broken as well: the run died on the way. */
  async next(): Promise<BodyRead> {
    while (this.#goesOn) {
      const chunk = this.#read.shift() ?? (await this.#fetch())
      if (chunk === undefined) break
      this.#seq = chunk.seq + 1
      this.#ending = chunk.ending
      const bytes = this.#options.box.openBytes(chunk.content)
      if (this.#codec.numbersEvents) this.#trail.follow(bytes)
      if (bytes.byteLength > 0) return bytes
    }
    return this.#ending ?? this.#lastWords()
  }

  get #goesOn(): boolean {
    return this.#options.interruption.reason === undefined
  }

  get #codec() {
    return CODECS[SURFACE_FORMAT[this.#options.surface]]
  }

  /** How an answer ends of which no more is given: as one that flows, where events can say so. */
  #lastWords(): BodyRead {
    const { headers } = this.#head
    const { surface, interruption } = this.#options
    if (interruption.reason === undefined || !isEventStream(headers['content-type'] ?? null)) return 'broken'
    this.#ending = surface === 'gemini' ? 'broken' : 'closed'
    const lastData = this.#codec.numbersEvents ? this.#trail.lastData() : undefined
    const requestId = headers['x-request-id'] ?? ''
    return Buffer.from(this.#codec.encodeErrorEvent(interruption.reason, requestId, lastData))
  }

  /** Undefined when there are no more. */
  async #fetch(): Promise<StoredChunk | undefined> {
    const { store, knownTo, clock } = this.#options
    let isLastLook = false
    while (this.#ending === undefined && this.#goesOn) {
      await this.look()
      const chunk = this.#read.shift()
      if (chunk !== undefined || isLastLook) return chunk
      // What it wrote last came before its end, so one more look sees all of it.
      const run = await store.find(this.#id, knownTo())
      isLastLook = run?.alive !== true
      if (!isLastLook) await pause(LOOK_MS, clock)
    }
    return undefined
  }
}
