import { describe, expect, test } from 'bun:test'
import { recordings } from '#tests/transcripts/recording.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Meter } from '@/exchange/meter.ts'
import { PassthroughPipeline } from '@/exchange/passthrough-pipeline.ts'
import { CODECS } from '@/formats/registry.ts'
import { eachEvent } from '@/formats/splitter.ts'
import type { Format } from '@/generation/format.ts'

/** The events of a stream, so many to a read. */
function reads(stream: Buffer, eventsPerRead: number): Uint8Array[] {
  const events: Buffer[] = []
  eachEvent(stream, event => events.push(event))
  const grouped: Uint8Array[] = []
  for (let at = 0; at < events.length; at += eventsPerRead) {
    // As sockets give them: bytes that are no Buffer.
    grouped.push(new Uint8Array(Buffer.concat(events.slice(at, at + eventsPerRead))))
  }
  return grouped
}

function pipelineOf(format: Format): PassthroughPipeline {
  const codec = CODECS[format]
  return new PassthroughPipeline({
    codec,
    decoder: codec.createStreamDecoder({ vendor: 'example', newId: () => 'id' }),
    requestId: 'request',
    hidesUsage: false,
    hidesComments: false,
    framer: undefined,
  })
}

/** Passes reads on; `torn` keeps each from being taken as a whole, by giving its last byte on its own. */
function pass(format: Format, chunks: readonly Uint8Array[], torn: boolean) {
  const pipeline = pipelineOf(format)
  const written: Buffer[] = []
  const emit = (bytes: Uint8Array) => written.push(Buffer.from(bytes))
  const readings: ReturnType<typeof readingOf>[] = []
  for (const chunk of chunks) {
    if (torn) pipeline.push(chunk.subarray(0, -1), emit)
    pipeline.push(torn ? chunk.subarray(-1) : chunk, emit)
    readings.push(readingOf(pipeline.meter))
  }
  pipeline.fail(new GatewayError('upstream_error', 'The upstream broke off'), emit)
  return { readings, written: Buffer.concat(written).toString('latin1') }
}

function withoutEstimates({ readings, written }: ReturnType<typeof pass>) {
  return { readings: readings.map(reading => ({ ...reading, estimatedOutput: 0 })), written }
}

function readingOf({ usage, output, finished, error, estimatedOutput }: Meter) {
  return { usage, output, finished, error: error?.message, estimatedOutput }
}

describe('a read of whole events is passed on as if it had come in pieces', () => {
  for (const { format, name, stream } of recordings()) {
    test(`${format}/${name}, one event a read`, () => {
      const chunks = reads(stream, 1)
      expect(pass(format, chunks, false)).toEqual(pass(format, chunks, true))
    })
    // What is not read is estimated by the run, and a torn read is two of them.
    test.each([2, 5])(`${format}/${name}, %d events a read`, eventsPerRead => {
      const chunks = reads(stream, eventsPerRead)
      expect(withoutEstimates(pass(format, chunks, false))).toEqual(
        withoutEstimates(pass(format, chunks, true)),
      )
    })
  }
})

test('a read that tells nothing is handed on without a copy', () => {
  const pipeline = pipelineOf('openai-chat-completions')
  const event = () =>
    new TextEncoder().encode(
      'data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n',
    )
  const written: Uint8Array[] = []
  pipeline.push(event(), bytes => written.push(bytes))
  const read = event()
  pipeline.push(read, bytes => written.push(bytes))
  expect(written[1]).toBe(read)
})
