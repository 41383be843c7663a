import { describe, expect, test } from 'bun:test'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { passThrough, requestAs, streamAs } from './conversion.ts'
import { recordings } from './recording.ts'

/** A stream is cut at about so many places, and behind each of its lines. */
const CUTS = 40

/** What says that an answer is over: whatever is lost behind it, the caller has all of it. */
const OVER: Record<Format, RegExp> = {
  'openai-chat-completions': /"finish_reason":\s*"\w+"/g,
  'openai-responses': /"type":\s*"response\.(?:completed|incomplete)"/g,
  'anthropic-messages': /"stop_reason":\s*"\w+"/g,
  'gemini-generate-content': /"(?:finishReason|blockReason)":\s*"\w+"/g,
}

/** An error at the end of a stream, in words that every client of the format reads as one. */
const ERROR: Record<Format, RegExp> = {
  'openai-chat-completions': /data: \{"error":\{"message":[^\n]*\}\n\n$/,
  'openai-responses': /event: response\.failed\ndata: [^\n]*\n\n$/,
  'anthropic-messages': /event: error\ndata: [^\n]*\n\n$/,
  'gemini-generate-content': /data: \{"error":\{"code":[^\n]*\}\r?\n\r?\n$/,
}

const ANSWERS = recordings().filter(({ response }) => response !== undefined)

describe.each(ANSWERS.map(recorded => [`${recorded.format}/${recorded.name}`, recorded] as const))(
  '%s, whose connection is lost',
  (_path, recorded) => {
    const { format, stream } = recorded
    const over = endsOfAnswers(stream.toString('latin1'), OVER[format])
    const step = Math.ceil(stream.length / CUTS)
    const cuts = Array.from(stream.keys()).filter(at => at % step === 0 || stream[at - 1] === 0x0a)

    test.each(FORMATS)('ends for a caller of %s in an error, unless it was over', caller => {
      const asked = caller === format ? undefined : requestAs(recorded, caller)
      if (asked instanceof GatewayError) return
      for (const at of [...cuts, stream.length]) {
        const kept = [stream.subarray(0, at)]
        const written = asked
          ? streamAs(recorded, caller, asked.lowered.body, kept)
          : passThrough(recorded, kept).toString()
        const isOver = at >= over.last
        if (isOver || at < over.first) expect([at, ERROR[caller].test(written)]).toEqual([at, !isOver])
        expect(asked ? unlawful(caller, written) : halves(written)).toEqual([])
      }
    })
  },
)

/** Where the events end that say so, of the first candidate to end and of the last. */
function endsOfAnswers(stream: string, mark: RegExp): { first: number; last: number } {
  const ends = [...stream.matchAll(mark)].map(({ index }) => index + stream.slice(index).search(/\r?\n\r?\n/))
  return { first: Math.min(...ends), last: Math.max(...ends) }
}

/** What is handed on as an event and is none: SDKs read its data, and fail where there are none. */
function halves(stream: string): string[] {
  const blocks = stream.split(/\r?\n\r?\n/)
  return blocks.filter(block => block !== '' && !block.startsWith(':') && !/^data:/m.test(block))
}
