import type { Clock } from '@/clock/clock.ts'
import { pause, within } from '@/clock/wait.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import type { Log } from '@/telemetry/log.ts'
import type { AnswerHead, RunEnd, RunStore, StoredChunk } from './store.ts'

/** An answer that is larger is not kept. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024

/** So much is written at once, or what has gathered in a while: others read along. */
const CHUNK_BYTES = 64 * 1024
const GATHER_MS = 500

/** What may wait for the database before the answer flows no faster than it writes. */
const MAX_WAITING_BYTES = 1024 * 1024

/** The end of an answer is written again and again for so long while the database is away. */
const END_TRIES = 60
const END_PAUSE_MS = 1000

/** An answer's end waits no longer for its being kept. */
const END_PATIENCE_MS = 2000

/** Which run is recorded, and where. */
export interface RecordingOptions {
  /** Of the run. */
  id: string
  store: RunStore
  box: SecretBox
  clock: Clock
  log: Log
}

/** How an answer ended. */
export interface AnswerEnd {
  /** It may be given again. */
  complete: boolean
  ending: 'closed' | 'broken'
  /** Of one that did not flow. */
  head?: AnswerHead
}

/** Keeps an answer as it passes, a stretch at a time, so that memory holds little of it. */
export class Recording {
  readonly #options: RecordingOptions
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #total = 0
  #seq = 0
  /** False once it is too large, or a stretch of it could not be written. */
  #isWhole = true
  #writing: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined

  constructor(options: RecordingOptions) {
    this.#options = options
  }

  /** The head of an answer that flows. */
  async begin(head: AnswerHead): Promise<void> {
    const { id, store } = this.#options
    await store.begin(id, head).catch(error => this.#giveUp(error))
  }

  /** Notes bytes that pass. A promise: the answer has to wait until it resolves. */
  add(bytes: Uint8Array): Promise<void> | undefined {
    this.#total += bytes.byteLength
    if (this.#total > MAX_KEPT_BYTES) this.#isWhole = false
    if (!this.#isWhole) {
      this.#forget()
      return undefined
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.byteLength
    if (this.#waitingBytes >= CHUNK_BYTES) this.#write()
    else this.#cancelTimer ??= this.#options.clock.after(GATHER_MS, () => this.#write())
    return this.#waitingBytes > MAX_WAITING_BYTES ? this.#writing : undefined
  }

  /** Whether nobody can be given this answer again. */
  get isTooLarge(): boolean {
    return this.#total > MAX_KEPT_BYTES
  }

  /**
   * The end of the answer. Resolves when the database knows, or after a while; `kept` resolves when it knows or all tries
   * have failed.
   */
  async end(result: AnswerEnd): Promise<{ kept: Promise<void> }> {
    this.#cancelTimer?.()
    // What gathered while one stretch was written is the next one.
    while (this.#writing !== undefined) await this.#writing
    const state = !result.complete ? 'failed' : this.#isWhole ? 'complete' : 'unkept'
    const last = { seq: this.#seq, content: this.#takeSealed(), ending: result.ending }
    const kept = this.#insist({ state, head: result.head, last: this.#isWhole ? last : undefined })
    await within(END_PATIENCE_MS, kept, this.#options.clock)
    return { kept }
  }

  #write(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#writing !== undefined) return
    this.#writing = this.#writeWaiting().finally(() => {
      this.#writing = undefined
      if (this.#waitingBytes >= CHUNK_BYTES) this.#write()
    })
  }

  async #writeWaiting(): Promise<void> {
    const { id, store } = this.#options
    const chunk: StoredChunk = { seq: this.#seq, content: this.#takeSealed(), ending: undefined }
    this.#seq += 1
    await store.append(id, chunk).catch(error => this.#giveUp(error))
  }

  #takeSealed(): Uint8Array {
    const sealed = this.#options.box.seal(Buffer.concat(this.#waiting))
    this.#forget()
    return sealed
  }

  #forget(): void {
    this.#waiting = []
    this.#waitingBytes = 0
  }

  #giveUp(error: unknown): void {
    this.#isWhole = false
    this.#forget()
    this.#options.log.warn({ err: error, run: this.#options.id }, 'an answer could not be kept')
  }

  async #insist(end: RunEnd): Promise<void> {
    const { id, store, clock, log } = this.#options
    for (let tries = 1; ; tries += 1) {
      try {
        return await store.end(id, end)
      } catch (error) {
        log.warn({ err: error, run: id, tries }, 'the end of an idempotent request could not be written')
        if (tries === END_TRIES) return
        await pause(END_PAUSE_MS, clock)
      }
    }
  }
}
