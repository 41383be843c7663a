import type { StreamEventType } from '@/formats/openai-responses/wire.ts'
import type { Counter } from '@/formats/plain/plain-text.ts'

/** Writes events as text with their running number. */
export class EventLines implements Counter {
  next = 0

  /** @param fields of the event beside `type` and `sequence_number`, as JSON without its braces. */
  line(type: StreamEventType, fields: string): string {
    const number = this.next
    this.next += 1
    return `${lineStart(type)}${number},${fields}}\n\n`
  }
}

/** What a line says before its number. */
export function lineStart(type: StreamEventType): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`
}
