import { createParser, type EventSourceParser } from 'eventsource-parser'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import type { SseEvent } from './event.ts'

/**
 * Bytes to server-sent events. Decodes UTF-8 across chunk borders; CRLF, LF and CR end lines; comments and unknown
 * fields are skipped, but for `error`, which is an event of that name: llama.cpp told of its faults so until the end of
 * 2025 (https://github.com/coddy-project/coddy-agent/pull/106). A last event without its blank line still counts, as long
 * as it has data. `isStart`: the stream begins here, where a BOM means nothing.
 */
export function createSseParser(isStart = true): StreamMachine<Uint8Array, SseEvent> {
  const parser = compose(createUtf8Decoder(), createSseTextParser())
  if (!isStart) parser.push(COMMENT, () => {})
  return parser
}

const COMMENT = new TextEncoder().encode(':\n')

/** The same for text. */
function createSseTextParser(): StreamMachine<string, SseEvent> {
  let sink: (event: SseEvent) => void = () => {}
  const parser: EventSourceParser = createParser({
    onEvent: event => sink({ event: event.event, data: event.data }),
    onError: ({ field, value = '' }) => {
      if (field === 'error') sink({ event: 'error', data: value })
    },
  })
  return {
    push(text, emit) {
      sink = emit
      parser.feed(text)
    },
    end(emit) {
      sink = emit
      parser.feed('\n\n')
    },
  }
}

const DATA = 'data: '
const NAME = 'event: '

/**
 * One whole event, in the spelling of nearly all: one line of data, the name in front of it if it has one, and lines that
 * end in LF. Undefined for any other text, which only a parser can read.
 */
export function readEvent(text: string): SseEvent | undefined {
  let event: string | undefined
  let line = 0
  if (text.startsWith(NAME)) {
    line = text.indexOf('\n') + 1
    event = text.slice(NAME.length, line - 1)
  }
  const start = line + DATA.length
  const end = text.length - 2
  const isOneLine = text.startsWith(DATA, line) && text.indexOf('\n', line) === end && text.endsWith('\n\n')
  if (!isOneLine || event === '' || start === end || text.includes('\r')) return undefined
  return { event, data: text.slice(start, end) }
}

const STREAM = { stream: true }

/** UTF-8 to text, across chunk borders; what is no UTF-8 becomes U+FFFD. */
function createUtf8Decoder(): StreamMachine<Uint8Array, string> {
  const decoder = new TextDecoder()
  return {
    push: (chunk, emit) => emit(decoder.decode(chunk, STREAM)),
    end: emit => emit(decoder.decode()),
  }
}

/** Where the event ends that begins there, its empty line included; -1 when its end is not there, or ends lines in CR alone. */
export function endOfEvent(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(LF, start); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1]
    if (next === LF) return at + 2
    if (next === CR && bytes[at + 2] === LF) return at + 3
  }
  return -1
}

const LF = 0x0a
const CR = 0x0d
