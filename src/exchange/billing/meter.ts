import type { GatewayError } from '@/errors/gateway-error.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { Usage } from '@/generation/usage.ts'
import { tokensIn } from './token-estimate.ts'

/** What an answer said that the gateway keeps: its usage, whether it began, whether and how it ended. */
export class Meter {
  /** True once the caller would see something of the answer: from here on no other channel may take over. */
  output = false
  /** True once the answer came to its end by the format's own mark: that of each candidate, where there are several. */
  finished = false
  /** How many ends there were: one of each candidate, where there are several. */
  endings = 0
  /** The error the answer ended in; nothing follows it. */
  error: GatewayError | undefined
  /** True once the upstream closed before the end of the answer, whatever became of telling that. */
  cut = false
  /** What of the answer the caller's format has no word for; undefined: it says all of it. */
  losses: Set<string> | undefined
  #textBytes = 0
  /** How often output came that has no text. */
  #textless = 0
  /** Whether the first candidate began and has not ended. */
  #isWriting = false
  /** Those of the others of which that is so; most answers have none, and an open stream is to be few objects. */
  #othersWriting: Set<number> | undefined
  #usage: Usage | undefined
  #isUsageSoFar = false
  readonly #catchUp: () => void
  readonly #servedTier: () => string | undefined

  /**
   * @param catchUp observes a usage that came and was not read yet, for who reads it only when it is wanted
   * @param servedTier what the upstream has said of the service tier
   */
  constructor(catchUp: () => void = nothing, servedTier: () => string | undefined = nothing) {
    this.#catchUp = catchUp
    this.#servedTier = servedTier
  }

  /** The last usage the upstream reported; undefined while there is none. */
  get usage(): Usage | undefined {
    this.#catchUp()
    return this.#usage
  }

  /** The same, if it is of the whole answer and not only of what it began with. */
  get wholeUsage(): Usage | undefined {
    const { usage } = this
    return this.#isUsageSoFar ? undefined : usage
  }

  /** The upstream's last word for the service tier that serves the answer; undefined: it said none. */
  get servedTier(): string | undefined {
    this.#catchUp()
    return this.#servedTier()
  }

  /** Tokens of the answer so far by rule of thumb, for the time until the upstream reports its own count. */
  get estimatedOutput(): number {
    return tokensIn(this.#textBytes)
  }

  /** True once the upstream said something that is paid for, though the caller would not see it yet. */
  get hasWorked(): boolean {
    return this.output || this.#textBytes > 0
  }

  /** Changes with whatever more of the answer comes. */
  get said(): number {
    return this.#textBytes + this.#textless
  }

  /** True when the answer came to its end, and its usage is known. Chat tells the usage after the end. */
  get isConclusive(): boolean {
    return this.error === undefined && this.finished && this.wholeUsage !== undefined
  }

  /** The result puts the meter back to where it is now. */
  bookmark(): () => void {
    const { usage, output, finished, error, cut } = this
    const textBytes = this.#textBytes
    const isUsageSoFar = this.#isUsageSoFar
    return () => {
      this.#catchUp()
      Object.assign(this, { output, finished, error, cut })
      this.#usage = usage
      this.#isUsageSoFar = isUsageSoFar
      this.#textBytes = textBytes
    }
  }

  /** Adds output that passed without being read. */
  addUnread(textBytes: number): void {
    this.#textBytes += textBytes
  }

  observe(event: GenerationEvent): void {
    switch (event.type) {
      case 'usage':
        this.#usage = event.usage
        this.#isUsageSoFar = event.soFar === true
        return
      case 'finish':
        if (event.candidate === 0) this.#isWriting = false
        else this.#othersWriting?.delete(event.candidate)
        this.finished = !this.#isWriting && (this.#othersWriting?.size ?? 0) === 0
        this.endings += 1
        this.output = true
        return
      case 'text-start':
      case 'refusal-start':
      case 'reasoning-start':
      case 'tool-input-start':
        if (event.candidate === 0) this.#isWriting = true
        else this.#othersWriting = (this.#othersWriting ?? new Set()).add(event.candidate)
        this.finished = false
        this.output = true
        return
      case 'error':
        this.cut ||= event.error.isCut
        this.error = event.error
        return
      case 'start':
        return
      case 'text-delta':
      case 'refusal-delta':
      case 'reasoning-delta':
      case 'tool-input-delta':
        this.#textBytes += Buffer.byteLength(event.text)
        this.output = true
        return
      case 'withheld':
        this.#textBytes += event.bytes
        return
      default:
        this.#textless += 1
        this.output = true
    }
  }
}

function nothing(): undefined {}
