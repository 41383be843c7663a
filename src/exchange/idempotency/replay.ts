import type { Clock } from '@/clock/clock.ts'
import { pause } from '@/clock/wait.ts'
import { type BodyRead, pulledBody } from '@/exchange/relay/pulled-body.ts'
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
  /** Aborts when the one who waits leaves. */
  signal: AbortSignal
}

/**
 * The answer of a run that somebody else began, here or in another process: at once if it is there, along with the
 * first caller if it still flows. Undefined when there is none: the run failed before its answer began, or its process
 * died. One that flows is joined when it has been seen to move, so that nobody gets the half that a dead process left.
 */
export async function replay(run: StoredRun, options: ReplayOptions): Promise<Response | undefined> {
  const { store, knownTo, signal } = options
  for (let found: StoredRun | undefined = run; !signal.aborted; found = await store.find(run.id, knownTo())) {
    if (found === undefined) return undefined
    const moves = found.alive && found.pulse !== run.pulse
    if ((found.state === 'complete' || moves) && found.head !== undefined) {
      const reader = new ChunkReader(run.id, options)
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
  readonly #options: ReplayOptions
  #seq = 0
  #read: StoredChunk[] = []
  #ending: StoredChunk['ending']
  #hasLeft = false

  constructor(id: string, options: ReplayOptions) {
    this.#id = id
    this.#options = options
  }

  leave(): void {
    this.#hasLeft = true
  }

  /** Reads what is there. */
  async look(): Promise<void> {
    this.#read = await this.#options.store.chunks(this.#id, this.#seq)
  }

  /** The next bytes, or how the body ended. Broken as well: the run died on the way. */
  async next(): Promise<BodyRead> {
    while (!this.#hasLeft) {
      const chunk = this.#read.shift() ?? (await this.#fetch())
      if (chunk === undefined) return this.#ending ?? 'broken'
      this.#seq = chunk.seq + 1
      this.#ending = chunk.ending
      const bytes = this.#options.box.openBytes(chunk.content)
      if (bytes.byteLength > 0) return bytes
    }
    return 'broken'
  }

  /** Undefined when there are no more. */
  async #fetch(): Promise<StoredChunk | undefined> {
    const { store, knownTo, clock } = this.#options
    let isLastLook = false
    while (this.#ending === undefined && !this.#hasLeft) {
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
