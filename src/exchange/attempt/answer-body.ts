import type { Deadlines } from '@/clock/deadlines.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { formOf } from './answer-form.ts'

/** Larger than any answer that is read into memory; more is an upstream that went mad. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024

/** Of such a length it comes at once, and is read natively in one go. */
const SHORT_BYTES = 64 * 1024

/** An upstream's status says most of what there is; its words are not waited for any longer. */
const FAULT_MS = 5_000

/** The most of an error body that is read; the rest says nothing more. */
const MAX_FAULT_BYTES = 64 * 1024

/** How long whoever reads an answer waits. */
interface Patience {
  deadlines: Deadlines
  /** Between two reads. */
  idleMs: number
  /** Aborted when nothing comes any more. */
  attempt: AbortController
  /** For an answer that may say itself where it ends. */
  listener?: AnswerListener | undefined
}

/** Hears an answer as it comes. */
export interface AnswerListener {
  hear(chunk: Uint8Array): void
  /** True once it came to its end by its own words. */
  readonly finished: boolean
  /** True once it lacks nothing, should no more come. */
  readonly isWhole: boolean
  /** True when no more is to be expected behind that. */
  readonly isConclusive: boolean
}

/** How long an upstream may keep a finished answer's connection open: its end was read, and its usage is known. */
export const LAST_WORDS_MS = 5_000

/** A read of this length may hold tens of thousands of events. */
const LONG_READ_BYTES = 64 * 1024

/**
 * A turn of the event loop for everybody else, behind a read that may have been much work: what has arrived already is
 * read without any in between, however much it is. Undefined behind a short one.
 */
export function turnAfter(read: Uint8Array): Promise<void> | undefined {
  return read.byteLength < LONG_READ_BYTES ? undefined : new Promise(resolve => setImmediate(resolve))
}

/**
 * All of an answer. Each read may take its time: some upstreams send white space for minutes while a model thinks.
 * One that has said its end is whole, whatever becomes of its connection.
 * @throws GatewayError `upstream_error`; the reason of the attempt's abort is the caller's to look for
 */
export async function readAnswer(response: Response, patience: Patience): Promise<Uint8Array> {
  const { deadlines, idleMs, attempt, listener } = patience
  const answer = new AnswerBytes()
  const giveUp = () => attempt.abort(stalled())
  let deadline = deadlines.after(idleMs, giveUp)
  let waitMs = idleMs
  let wasFinished = false
  try {
    const declared = Number(response.headers.get('content-length') ?? Number.NaN)
    // What is compressed, though nobody asked for that, may be of any length.
    const isShort = declared <= SHORT_BYTES && !response.headers.has('content-encoding')
    if (isShort) return new Uint8Array(await response.arrayBuffer())
    for await (const chunk of response.body ?? []) {
      answer.add(chunk)
      listener?.hear(chunk)
      const isFinished = listener?.finished === true
      const nextMs = listener?.isConclusive === true ? Math.min(idleMs, LAST_WORDS_MS) : idleMs
      // What comes behind the end buys no time.
      if (wasFinished && isFinished && nextMs === waitMs) continue
      wasFinished = isFinished
      waitMs = nextMs
      deadlines.cancel(deadline)
      deadline = deadlines.after(waitMs, giveUp)
    }
    return answer.whole()
  } catch (error) {
    const { aborted, reason } = attempt.signal
    const isGivenUp = !aborted || (reason instanceof GatewayError && reason.isStall)
    if (isGivenUp && listener?.isWhole === true) return answer.whole()
    throw error instanceof GatewayError ? error : closedEarly(error)
  } finally {
    deadlines.cancel(deadline)
  }
}

/** An answer that is read into memory, as it comes. */
export class AnswerBytes {
  readonly #chunks: Uint8Array[] = []
  #total = 0

  /** @throws GatewayError for one that would fill the memory */
  add(chunk: Uint8Array): void {
    this.#total += chunk.length
    if (this.#total > MAX_ANSWER_BYTES) throw tooLong()
    this.#chunks.push(chunk)
  }

  /** All that came so far, in one piece. */
  whole(): Uint8Array {
    const [only] = this.#chunks
    return only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#total)
  }
}

/**
 * The start of an error body as text, as far as it comes in time. It is read to its end or cancelled, since a body left
 * unread leaks.
 */
export async function readFault(response: Response, deadlines: Deadlines): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const cancel = () => void reader.cancel().catch(() => undefined)
  const deadline = deadlines.after(FAULT_MS, cancel)
  const decoder = new TextDecoder()
  let text = ''
  try {
    while (text.length <= MAX_FAULT_BYTES) {
      const { done, value } = await reader.read()
      if (done) return text
      text += decoder.decode(value, { stream: true })
    }
    cancel()
  } catch {
    // A body that breaks off still said what it said.
  } finally {
    deadlines.cancel(deadline)
  }
  return text
}

/** An upstream that says nothing any more in the middle of its answer. */
export function stalled(): GatewayError {
  return new GatewayError('upstream_timeout', 'The upstream stopped sending (stream timed out)', {
    isStall: true,
    retry: 'next-channel',
  })
}

/** What fetch throws of a body: the connection broke, or what came over it is not what its head said. */
function closedEarly(cause: unknown): GatewayError {
  return new GatewayError(
    'upstream_error',
    'The upstream closed the connection before its answer was complete',
    { isCut: true, retry: 'next-channel', cause },
  )
}

/** An answer whose connection ended before it did. */
export function brokenOff(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream broke off in the middle of its answer', {
    isCut: true,
    retry: 'next-channel',
  })
}

/** An answer that had to be JSON. */
export function notJson(bytes: Uint8Array): GatewayError {
  if (formOf(bytes) === 'page') return webPage()
  return new GatewayError('upstream_error', 'The upstream answered with something that is not JSON', {
    retry: 'next-channel',
    detail: `the body is ${bytes.length} bytes long`,
  })
}

/** What a website answers to whatever it does not know, often with a 200. */
export function webPage(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream answered with a web page', {
    retry: 'next-channel',
    detail: "the base_url of its channel may be a website's address and not its API's, or a proxy answers",
  })
}

function tooLong(): GatewayError {
  return new GatewayError('upstream_error', `The upstream's answer is larger than ${MAX_ANSWER_BYTES} bytes`)
}
