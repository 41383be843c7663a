import type { Caller } from '@/accounts/account.ts'
import type { Deadlines } from '@/clock/deadlines.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { BodyRoom } from '@/limits/body-room.ts'

/** What a body may be: so large, if there is room for it, and not silent for ever. */
export interface BodyTerms {
  /** Whose body it is. */
  account: number
  /** Largest decoded body, in bytes. */
  maxBodyBytes: number
  /** Memory for bodies of more than FREE_BYTES. */
  bodyRoom: Pick<BodyRoom, 'take' | 'giveBack'>
  /** Timeouts, nearly all of which are cancelled. */
  deadlines: Deadlines
}

/** What a caller's body may be. */
export function termsOf(
  { accountId }: Pick<Caller, 'accountId'>,
  { maxBodyBytes, bodyRoom, deadlines }: Omit<BodyTerms, 'account'>,
): BodyTerms {
  return { account: accountId, maxBodyBytes, bodyRoom, deadlines }
}

/** How long nothing of a body may come before its request is given up. */
const SILENCE_MS = 60_000

/** Whoever sends more slowly than this is taken to send nothing: a body that crawls takes the room of others. */
const SLOWEST_BYTES_PER_S = 4096

/** So much of a body must have come by the end of each silence. */
const LEAST_BYTES = (SILENCE_MS / 1000) * SLOWEST_BYTES_PER_S

/**
 * A body of up to this size is read by the runtime in one go, at half the cost of reading it in pieces. Then nothing is
 * known of it until it is there, so it has the time of one silence, and a second more for every SLOWEST_BYTES_PER_S.
 */
const WHOLE_BYTES = 1024 * 1024

/** For a body of up to this size there always is room: it takes thousands of connections to fill a memory with such. */
export const FREE_BYTES = 64 * 1024

/**
 * The bytes of a body as they were sent, in one piece.
 * @throws GatewayError `body_too_large`, `body_stalled`, `overloaded` where there is no memory for it
 */
export async function arrivalOf(request: Request, terms: BodyTerms): Promise<Uint8Array> {
  const { maxBodyBytes, deadlines } = terms
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > maxBodyBytes) throw tooLarge(maxBodyBytes)
  if (declared <= FREE_BYTES) return new Uint8Array(await wholeOf(request, declared, deadlines))
  if (declared <= WHOLE_BYTES)
    return new Uint8Array(await inRoom(declared, terms, () => wholeOf(request, declared, deadlines)))
  if (request.body === null) return new Uint8Array(0)
  const pieces = piecesOf(request.body, deadlines)
  if (!Number.isFinite(declared)) return counted(pieces, terms)
  return inRoom(declared, terms, () => placed(pieces, declared))
}

/** A body that is read in one go: its length is held to by the server, so this is as safe as counting. */
function wholeOf(request: Request, length: number, deadlines: Deadlines): Promise<ArrayBuffer> {
  return within(request.arrayBuffer(), SILENCE_MS + (length * 1000) / SLOWEST_BYTES_PER_S, deadlines)
}

/**
 * Does what will touch so many bytes, if there is room for them; there always is for a few.
 * @throws GatewayError `overloaded`
 */
export async function inRoom<Result>(
  bytes: number,
  { account, bodyRoom }: Pick<BodyTerms, 'account' | 'bodyRoom'>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (bytes <= FREE_BYTES) return work()
  if (!bodyRoom.take(bytes, account)) throw noRoom()
  try {
    return await work()
  } finally {
    bodyRoom.giveBack(bytes, account)
  }
}

/**
 * The pieces of a body as they come.
 * @throws GatewayError `body_stalled`
 */
export async function* piecesOf(
  body: ReadableStream<Uint8Array>,
  deadlines: Deadlines,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  let isLate = false
  const leave = () => void reader.cancel().catch(() => undefined)
  const giveUp = () => {
    isLate = true
    leave()
  }
  let deadline = deadlines.after(SILENCE_MS, giveUp)
  let dueBytes = LEAST_BYTES
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) throw stalled()
      if (done) return
      dueBytes -= value.length
      if (dueBytes <= 0) {
        deadlines.cancel(deadline)
        deadline = deadlines.after(SILENCE_MS, giveUp)
        dueBytes = LEAST_BYTES
      }
      yield value
    }
  } finally {
    deadlines.cancel(deadline)
    // What is still to come is wanted by nobody.
    leave()
  }
}

/** Pieces of a known length, each put where it belongs as it comes: memory that nothing was put in is not touched. */
async function placed(pieces: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
  let at = 0
  for await (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return at === length ? bytes : bytes.subarray(0, at)
}

/** Pieces of a length that nobody has said: room is taken for as much again as there is, and for no more than there may be. */
async function counted(pieces: AsyncIterable<Uint8Array>, terms: BodyTerms): Promise<Uint8Array> {
  const { maxBodyBytes } = terms
  const chunks: Uint8Array[] = []
  let total = 0
  let expected = FREE_BYTES
  const room = new GrowingRoom(terms)
  try {
    for await (const piece of pieces) {
      total += piece.length
      if (total > maxBodyBytes) throw tooLarge(maxBodyBytes)
      if (total > expected) {
        expected = Math.min(2 * total, maxBodyBytes)
        room.growTo(expected)
      }
      chunks.push(piece)
    }
    return Buffer.concat(chunks, total)
  } finally {
    room.giveBack()
  }
}

/** Room for what shows its length bit by bit. */
export class GrowingRoom {
  readonly #terms: Pick<BodyTerms, 'account' | 'bodyRoom'>
  #taken = 0

  constructor(terms: Pick<BodyTerms, 'account' | 'bodyRoom'>) {
    this.#terms = terms
  }

  /**
   * Room for so many bytes in all; there always is for a few.
   * @throws GatewayError `overloaded`
   */
  growTo(bytes: number): void {
    if (bytes <= FREE_BYTES || bytes <= this.#taken) return
    const { account, bodyRoom } = this.#terms
    if (!bodyRoom.take(bytes - this.#taken, account, this.#taken)) throw noRoom()
    this.#taken = bytes
  }

  giveBack(): void {
    if (this.#taken > 0) this.#terms.bodyRoom.giveBack(this.#taken, this.#terms.account)
  }
}

/** What arrives, if it does so in time. */
function within<T>(arriving: Promise<T>, patienceMs: number, deadlines: Deadlines): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = deadlines.after(patienceMs, () => reject(stalled()))
    const settle = <V>(end: (value: V) => void) => {
      return (value: V) => {
        deadlines.cancel(deadline)
        end(value)
      }
    }
    arriving.then(settle(resolve), settle(reject))
  })
}

/** The 413 for a body over the limit. */
export function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is larger than this gateway's limit of ${maxBytes} bytes`,
  )
}

/** The answer to whom there is no memory for. */
export function noRoom(): GatewayError {
  return new GatewayError(
    'overloaded',
    'This gateway has no memory for what this request takes, try again in a moment',
    { retryAfterMs: NO_ROOM_RETRY_MS, detail: 'memory' },
  )
}

/** About as long as it takes to hand on the bodies that are in the way. */
const NO_ROOM_RETRY_MS = 2_000

function stalled(): GatewayError {
  return new GatewayError(
    'body_stalled',
    `The rest of the body did not come: nothing was received for ${SILENCE_MS / 1000} s, or too little`,
  )
}
