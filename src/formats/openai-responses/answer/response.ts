import type { DecodeContext, ReplyContext } from '@/formats/codec.ts'
import { brokenAnswer, complaintIn, cutAnswer } from '@/formats/faults/fault.ts'
import { Collector } from '@/generation/collect.ts'
import { compose } from '@/generation/machine.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import type { JsonObject } from '@/json/json.ts'
import { responseError } from './error.ts'
import { PairJoiner } from './pairs.ts'
import { EventDecoder } from './stream-decode.ts'
import { ReplyWriter } from './stream-encode.ts'
import { usageOf } from './usage.ts'

/**
 * Reads a whole response, as one that the last event of a stream told at once.
 * @throws GatewayError for one whose status is failed or cancelled: it comes with HTTP status 200 and is no answer;
 * for one that is still being made, and for a body that is no response at all.
 */
export function decodeResponse(body: JsonObject, context: DecodeContext): GenerationResponse {
  if (isFault(body)) throw responseError(body)
  if (!isResponse(body)) throw complaintIn(body) ?? brokenAnswer("The upstream's answer is not a response")
  if (isBegun(body)) throw cutAnswer()
  const collector = new Collector()
  const collect = collector.push.bind(collector)
  const joiner = new PairJoiner()
  new EventDecoder(context).finish(body, event => joiner.push(event, collect))
  joiner.end(collect)
  return collector.response()
}

/** See Codec. */
export function reportedUsage(body: JsonObject): Usage | undefined {
  return isFault(body) || !isResponse(body) ? undefined : usageOf(body)
}

function isFault(body: JsonObject): boolean {
  return body['status'] === 'failed' || body['status'] === 'cancelled'
}

/** One that the vendor makes in the background, of which this is all that comes. Usage is told at the end alone. */
function isBegun({ status, usage }: JsonObject): boolean {
  return (status === 'queued' || status === 'in_progress') && (usage ?? null) === null
}

/** Some servers write an empty list as null. */
function isResponse(body: JsonObject): boolean {
  const output = body['output'] ?? null
  return Array.isArray(output) || (output === null && body['object'] === 'response')
}

/** Writes a whole answer: the object that ends its stream. */
export function encodeResponse(response: GenerationResponse, context: ReplyContext): JsonObject {
  const writer = new ReplyWriter(context)
  const stream = compose(new PairJoiner(), writer)
  const discard = () => {}
  for (const event of replay(response)) stream.push(event, discard)
  stream.end(discard)
  return writer.response()
}
