import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { StreamMachine } from '@/generation/machine.ts'
import type { SseEvent } from './event.ts'

/**
 * Bytes to server-sent events. Decodes UTF-8 across chunk borders; CRLF, LF and CR end lines; comments and unknown
 * fields are skipped; a last event without its blank line still counts, as long as it has data.
 */
export function createSseParser(): StreamMachine<Uint8Array, SseEvent> {
  const decoder = new TextDecoder()
  let sink: (event: SseEvent) => void = () => {}
  const parser: EventSourceParser = createParser({
    onEvent: event => sink({ event: event.event, data: event.data }),
  })
  return {
    push(chunk, emit) {
      sink = emit
      parser.feed(decoder.decode(chunk, { stream: true }))
    },
    end(emit) {
      sink = emit
      parser.feed(decoder.decode())
      parser.feed('\n\n')
    },
  }
}
