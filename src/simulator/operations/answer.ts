import type { JsonObject } from '@/json/json.ts'
import { JSON_TYPE } from '@/simulator/delivery/sending.ts'
import { formatEvent } from '@/sse/event.ts'
import type { Film } from './film.ts'

/** An answer that is ready in one piece, but for a film. */
export interface OperationAnswer {
  contentType: string
  body: string | Uint8Array<ArrayBuffer> | Film
}

/** An answer in JSON. */
export function json(value: JsonObject): OperationAnswer {
  return { contentType: JSON_TYPE, body: JSON.stringify(value) }
}

/** The frames of an event stream whose names equal their types. */
export function eventStream(events: ({ type: string } & JsonObject)[]): OperationAnswer {
  const frames = events.map(event => formatEvent(event.type, JSON.stringify(event)))
  return { contentType: 'text/event-stream; charset=utf-8', body: frames.join('') }
}

/** The rule of usage.ts for a single text. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}
