import { Failure } from '@/simulator/failure.ts'
import { type Film, readRange } from '@/simulator/operations/film.ts'
import type { Steering } from '@/simulator/script/steering.ts'
import { type Delivery, deliver } from './delivery.ts'
import { requireModel } from './gate.ts'

/** The content type of answers that are JSON. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** What the sending of an answer goes by. */
export interface Addressee {
  steering: Steering
  seed: string
  signal: AbortSignal
}

/** Neither an event stream nor JSON, and not even UTF-8. */
const GARBAGE = new Uint8Array([
  ...Buffer.from('<html>\x00\r\n\r\n{"data: '),
  0xff,
  0xfe,
  0xc3,
  0x28,
  ...Buffer.from('\n\n}garbage'),
])

/** Makes answers of what is to be said: as one piece, as frames, or as a film. */
export class Sender {
  readonly #delivery: Delivery

  constructor(delivery: Delivery) {
    this.#delivery = delivery
  }

  /** All at once, whatever the model name asks for. */
  atOnce(
    content: string | Uint8Array<ArrayBuffer>,
    status: number,
    seed: string,
    more: Record<string, string> = {},
  ): Response {
    const { observer } = this.#delivery
    observer.sent(Buffer.byteLength(content))
    observer.ended('completed')
    return new Response(content, {
      status,
      headers: { 'content-type': JSON_TYPE, ...requestIds(seed), ...more },
    })
  }

  /** An answer in one piece; when it is to be cut, its first half and then a broken connection. */
  whole(text: string, to: Addressee): Response {
    const { steering, seed } = to
    if (steering.cutAfter !== undefined) {
      const half = [text.slice(0, text.length / 2)].values()
      const cutAfter = Math.min(1, steering.cutAfter)
      return this.frames(half, JSON_TYPE, { ...to, steering: { ...steering, cutAfter } })
    }
    const isPlain = steering.splitBytes === undefined && !steering.garbage
    return isPlain ? this.atOnce(text, 200, seed) : this.frames([text].values(), JSON_TYPE, to)
  }

  /** An answer frame by frame, paced, split and cut as the model name asks. */
  frames(frames: Iterator<string>, contentType: string, { steering, seed, signal }: Addressee): Response {
    const content = steering.garbage ? [GARBAGE].values() : frames
    return new Response(deliver(content, steering, signal, this.#delivery), {
      headers: { 'content-type': contentType, 'cache-control': 'no-cache', ...requestIds(seed) },
    })
  }

  /** The bytes that a Range header asks for, as fast as they are read. */
  film(content: Film, contentType: string, request: Request, seed: string): Response {
    const { size } = content
    const range = readRange(request.headers.get('range'), size)
    if (range === null) throw new Failure(416, 'The requested range is not satisfiable.')
    const { from, to } = range ?? { from: 0, to: size }
    const steering = requireModel('openai-chat-completions', 'echo')
    return new Response(deliver(content.read(from, to), steering, request.signal, this.#delivery), {
      status: range === undefined ? 200 : 206,
      headers: {
        'content-type': contentType,
        'accept-ranges': 'bytes',
        'content-length': String(to - from),
        ...(range === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
        ...requestIds(seed),
      },
    })
  }
}

function requestIds(seed: string): Record<string, string> {
  return { 'x-request-id': `req_${seed}`, 'request-id': `req_${seed}` }
}
