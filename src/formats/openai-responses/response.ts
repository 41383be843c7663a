import { GatewayError } from '@/errors/gateway-error.ts'
import type { DecodeContext, ReplyContext } from '@/formats/codec.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import { asArray, asObject, asString, type JsonObject } from '@/json/json.ts'
import { responseError } from './error.ts'
import { decodeFinish } from './finish.ts'
import { decodeItem } from './items.ts'
import { ReplyWriter } from './stream-encode.ts'
import { decodeUsage } from './usage.ts'

/**
 * Reads a whole response.
 * @throws GatewayError for one whose status is failed or cancelled: it comes with HTTP status 200 and is no answer;
 * and for a body that is no response at all.
 */
export function decodeResponse(body: JsonObject, context: DecodeContext): GenerationResponse {
  if (isFault(body)) throw responseError(body)
  if (!isResponse(body)) {
    throw new GatewayError('upstream_error', "The upstream's answer is not a response", {
      retry: 'next-channel',
    })
  }
  const items = asArray(body['output']).flatMap((value): JsonObject[] => {
    const item = asObject(value)
    return item === undefined ? [] : [item]
  })
  const parts = items.flatMap(item => decodeItem(item, context))
  const seen = {
    calls: parts.some(part => part.type === 'tool-call'),
    refusal: parts.some(part => part.type === 'refusal'),
  }
  const contents = items.flatMap(item => (item['type'] === 'message' ? asArray(item['content']) : []))
  return {
    id: asString(body['id']),
    model: asString(body['model']),
    candidates: [
      {
        parts,
        finish: decodeFinish(body, seen),
        logprobs: contents.flatMap(content => asArray(asObject(content)?.['logprobs'])),
      },
    ],
    usage: decodeUsage(body),
    serviceTier: serviceTierOf(body),
  }
}

/** See Codec. */
export function reportedUsage(body: JsonObject): Usage | undefined {
  return isFault(body) || !isResponse(body) ? undefined : decodeUsage(body)
}

function isFault(body: JsonObject): boolean {
  return body['status'] === 'failed' || body['status'] === 'cancelled'
}

/** Some servers write an empty list as null. */
function isResponse(body: JsonObject): boolean {
  const output = body['output'] ?? null
  return Array.isArray(output) || (output === null && body['object'] === 'response')
}

/** See Codec. */
export function servedTier(response: JsonObject): string | undefined {
  return asString(response['service_tier'])
}

/**
 * The tier that served the answer; undefined for the ordinary one. A stream begins by saying `auto` and ends by
 * saying `default`, which both mean it.
 */
export function serviceTierOf(response: JsonObject): string | undefined {
  const tier = servedTier(response)
  return tier === 'auto' || tier === 'default' ? undefined : tier
}

/** Writes a whole answer: the object that ends its stream. */
export function encodeResponse(response: GenerationResponse, context: ReplyContext): JsonObject {
  const writer = new ReplyWriter(context)
  const discard = () => {}
  for (const event of replay(response)) writer.push(event, discard)
  writer.end(discard)
  return writer.response()
}
