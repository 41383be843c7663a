import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { unlawful } from '#tests/support/streams/lawful.ts'
import { said } from '#tests/support/streams/said.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { CODECS } from '@/formats/registry.ts'
import { collect } from '@/generation/collect.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { replay } from '@/generation/replay.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import {
  decodeContext,
  decodeRequest,
  eventsOf,
  passThrough,
  REQUEST_ID,
  requestAs,
  streamAs,
  TARGETS,
  wholeAs,
} from './conversion.ts'
import { expectGolden, expectNoGolden, pretty } from './golden.ts'
import { type Recording, recordings } from './recording.ts'

/** A stream up to this length is split at every byte, a longer one at `SPLITS` places. */
const SMALL_BYTES = 2000
const SPLITS = 200

describe.each(recordings().map(recorded => [`${recorded.format}/${recorded.name}`, recorded] as const))(
  '%s',
  (_path, recorded) => {
    const { format, stream, response } = recorded
    const events = eventsOf(format, [stream])

    test('reaches a caller of its own format byte for byte, wherever it is split', () => {
      if (response === undefined) return expectOneError(recorded)
      for (const chunks of splits(stream)) {
        if (!passThrough(recorded, chunks).equals(stream)) {
          expect(passThrough(recorded, chunks).toString()).toBe(stream.toString())
        }
      }
    })

    test('tells the same wherever it is split', () => {
      for (const chunks of splits(stream)) {
        const told = eventsOf(format, chunks)
        if (!Bun.deepEquals(told, events)) expect(told).toEqual(events)
      }
    })

    test('tells as a stream what it tells whole', () => {
      if (response === undefined) return expect(events.at(-1)?.type).toBe('error')
      expect(collect(events)).toEqual(CODECS[format].decodeResponse(response, decodeContext(format)))
    })

    test('is asked for again, by the same bytes each time, through the hub of its own format', () => {
      const model = asString(recorded.request['model']) ?? TARGETS[format].model
      const target = { model, vendor: 'upstream.example', maxOutputTokens: undefined }
      const asked = decodeRequest(format, recorded.request)
      const { body, losses } = CODECS[format].encodeRequest(asked, target)
      const again = CODECS[format].encodeRequest(structuredClone(asked), target)
      expect(JSON.stringify(again.body)).toBe(JSON.stringify(body))
      expect(losses).toEqual([])
      // A group of tools is described by its name where it is put together again.
      if (recorded.name === 'namespace-tool') return
      // Nothing is kept at an upstream, whatever was asked.
      expect({ ...decodeRequest(format, body), store: asked.store }).toEqual(asked)
    })

    test('is told again through the hub of its own format, whole and streamed', () => {
      if (response === undefined) return
      const wire = { ...recorded.request, stream_options: { include_usage: true } }
      const answer = read(format, response)
      expect(collect(replay(answer))).toEqual(answer)
      expect(said(read(format, wholeAs(recorded, format, wire, response)))).toEqual(said(answer))
      const written = Buffer.from(streamAs(recorded, format, wire, [stream]))
      expect(said(collect(eventsOf(format, [written])))).toEqual(said(answer))
    })

    describe.each(FORMATS.filter(other => other !== format))('as %s', other => {
      const asked = requestAs(recorded, other)
      const file = (name: string) => join(recorded.folder, name)

      if (asked instanceof GatewayError) {
        test('is refused before it is sent', () => {
          const body = CODECS[format].encodeError(asked, REQUEST_ID)
          expectGolden(file(`refused-as-${other}.json`), pretty({ status: asked.status, body }))
          expectNoGolden(file(`request-as-${other}.json`))
          expectNoGolden(file(`as-${other}.sse`))
          expectNoGolden(file(`as-${other}.json`))
        })
        return
      }

      const { body, headers } = asked.lowered

      test('asks for what was asked, and declares what it cannot ask for', () => {
        const golden = {
          ...(asked.losses.length > 0 && { losses: asked.losses }),
          ...(Object.keys(headers).length > 0 && { headers }),
          body,
        }
        expectGolden(file(`request-as-${other}.json`), pretty(golden))
        expectNoGolden(file(`refused-as-${other}.json`))
        expect(JSON.stringify(encodedAgain(recorded, other))).toBe(JSON.stringify(body))
      })

      test('is this stream, lawful and the same for any split', () => {
        const written = streamAs(recorded, other, body, [stream])
        expectGolden(file(`as-${other}.sse`), written)
        expect(unlawful(other, written)).toEqual([])
        const bytes = Array.from(stream, byte => Buffer.of(byte))
        expect(streamAs(recorded, other, body, bytes)).toBe(written)
      })

      test('is this answer, the same whole as streamed', () => {
        const golden = file(`as-${other}.json`)
        if (response === undefined) return expectNoGolden(golden)
        const written = wholeAs(recorded, other, body, response)
        expectGolden(golden, pretty(written))
        const streamed = eventsOf(other, [Buffer.from(streamAs(recorded, other, body, [stream]))])
        expect(said(collect(streamed))).toEqual(said(read(other, written)))
      })
    })
  },
)

/** All of it, in two parts at every place looked at, and byte by byte. */
function* splits(stream: Buffer): Generator<Buffer[]> {
  const step = stream.length <= SMALL_BYTES ? 1 : Math.ceil(stream.length / SPLITS)
  for (let at = 0; at < stream.length; at += step) yield [stream.subarray(0, at), stream.subarray(at)]
  yield Array.from(stream, byte => Buffer.of(byte))
}

/** A recorded failure: what came before it is passed on as it was, the failure itself in our words. */
function expectOneError(recorded: Recording): void {
  const whole = passThrough(recorded, [recorded.stream])
  expect(whole.toString()).toContain(`(request id: ${REQUEST_ID})`)
  const before = commonLength(whole, recorded.stream)
  expect(before).toBeGreaterThan(100)
  for (const chunks of splits(recorded.stream)) {
    expect(passThrough(recorded, chunks).toString()).toBe(whole.toString())
  }
}

function commonLength(a: Buffer, b: Buffer): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

function encodedAgain(recorded: Recording, to: Format): JsonObject | undefined {
  const again = requestAs({ ...recorded, request: structuredClone(recorded.request) }, to)
  return again instanceof GatewayError ? undefined : again.lowered.body
}

function read(format: Format, body: JsonObject) {
  return CODECS[format].decodeResponse(body, decodeContext(format))
}
