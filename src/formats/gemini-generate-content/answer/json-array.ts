import type { StreamMachine } from '@/generation/machine.ts'

/** What may stand before the first event, and is no part of its line. */
const BOM = /^\uFEFF/

/**
 * The other form of streamGenerateContent, without `alt=sse`: the same objects as one JSON array. Takes the text of
 * server-sent events, whole ones however many at once, and gives pieces of the array. Payloads stay as they are;
 * keepalives become the blank line that they are, which JSON allows between elements.
 */
export function createArrayFramer(): StreamMachine<string, string> {
  let started = false
  return {
    push(text, emit) {
      let pieces = ''
      const events = started ? text : text.replace(BOM, '')
      for (const block of events.split(/\r\n\r\n|\n\n|\r\r/)) {
        const payload = dataOf(block)
        if (payload === '' || payload === '[DONE]') continue
        pieces += started ? `,\r\n${payload}` : `[${payload}`
        started = true
      }
      if (pieces !== '') emit(pieces)
      else if (/^[\r\n]+$/.test(text)) emit('\n')
    },
    end(emit) {
      emit(started ? ']' : '[]')
    },
  }
}

/** The data of one event; its lines joined as the standard says. */
function dataOf(block: string): string {
  const lines = block.split(/\r\n|\n|\r/).filter(line => line.startsWith('data:'))
  return lines
    .map(line => line.slice(5))
    .join('\n')
    .trim()
}
