import { createParser } from 'eventsource-parser'

/** One server-sent event, as the playground shows it. */
export interface RawEvent {
  /** Empty where the event has no name. */
  name: string
  data: string
}

/**
 * Reads a body of server-sent events as it arrives; a last event without its blank line is told too.
 * @throws whatever reading the body throws
 */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: RawEvent) => void,
): Promise<void> {
  const parser = createParser({ onEvent: ({ event = '', data }) => onEvent({ name: event, data }) })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    parser.feed(decoder.decode(value, { stream: true }))
  }
  parser.feed(decoder.decode())
  parser.feed('\n\n')
}
