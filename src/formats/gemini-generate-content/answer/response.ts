import type { DecodeContext, ReplyContext } from '@/formats/codec.ts'
import {
  FORMAT,
  type WireCandidate,
  type WirePart,
  type WireResponse,
} from '@/formats/gemini-generate-content/wire.ts'
import { Collector } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { Part, ReasoningPart, Signature } from '@/generation/part.ts'
import type { Candidate, GenerationResponse } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import { asArray, asObject, isJsonObject, type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { decodeFinishReason, encodeBlockReason, encodeFinishReason } from './finish.ts'
import { type CitedText, encodeGrounding } from './grounding.ts'
import { encodeLogprobs } from './logprobs.ts'
import {
  callPart,
  callSignature,
  carriedSignature,
  encodeAnswerMedia,
  showsThoughts,
  signatureValue,
  travelsOnCall,
} from './reply-parts.ts'
import { GeminiDecoder } from './stream-decode.ts'
import { encodeUsage, readUsage, tierIn } from './usage.ts'

/**
 * Reads a whole answer: a stream of one chunk, but that it is complete even where it gives no reason to end.
 * @throws GatewayError `upstream_error` for an error in a 200, or a body that is no answer.
 */
export function decodeResponse(body: JsonObject, context: DecodeContext): GenerationResponse {
  const decoder = new GeminiDecoder(context)
  const collector = new Collector()
  const emit = (event: GenerationEvent) => {
    if (event.type === 'error') throw event.error
    collector.push(event)
  }
  decoder.read(withReasons(body), emit)
  decoder.end(emit)
  return collector.response()
}

/** See Codec. */
export function reportedUsage(body: JsonObject): Usage | undefined {
  const usage = asObject(body['usageMetadata'])
  const candidates = asArray(body['candidates'])
  if (usage === undefined || (body['error'] ?? null) !== null || candidates.length === 0) return undefined
  return candidates.every(hasOrdinaryEnd) ? readUsage(usage) : undefined
}

/** See Codec. */
export function servedTier(body: JsonObject): string | undefined {
  return tierIn(asObject(body['usageMetadata']))
}

/** Others get a reason of ours, or make the answer none. */
function hasOrdinaryEnd(candidate: JsonValue): boolean {
  return isJsonObject(candidate) && decodeFinishReason(candidate['finishReason']) !== undefined
}

function withReasons(body: JsonObject): JsonObject {
  if (!Array.isArray(body['candidates'])) return body
  const candidates = body['candidates'].map(candidate =>
    isJsonObject(candidate)
      ? { ...candidate, finishReason: hasOrdinaryEnd(candidate) ? candidate['finishReason'] : 'OTHER' }
      : candidate,
  )
  return { ...body, candidates }
}

/** Writes a whole answer (Codec.encodeResponse). */
export function encodeResponse(response: GenerationResponse, context: ReplyContext): JsonObject {
  const blocked = response.candidates.find(
    ({ finish, parts }) => finish.reason === 'prompt-blocked' && parts.length === 0,
  )
  const reply: WireResponse = {
    candidates:
      blocked === undefined ? response.candidates.map(one => encodeCandidate(one, context)) : undefined,
    promptFeedback:
      blocked === undefined ? undefined : { blockReason: encodeBlockReason(blocked.finish.message) },
    usageMetadata:
      response.usage === undefined ? undefined : encodeUsage(response.usage, response.serviceTier),
    modelVersion: context.model,
    responseId: context.requestId,
  }
  return present(reply)
}

function encodeCandidate(candidate: Candidate, context: ReplyContext): WireCandidate {
  const { parts, cited, malformed } = encodeParts(candidate.parts, showsThoughts(context))
  const reason = encodeFinishReason(
    malformed && candidate.finish.reason !== 'length' ? 'malformed-tool-call' : candidate.finish.reason,
    candidate.parts.some(({ type }) => type === 'refusal'),
  )
  return present({
    content: parts.length === 0 ? emptyContent(reason) : { parts, role: 'model' },
    finishReason: reason,
    index: candidate.index,
    finishMessage: candidate.finish.message,
    groundingMetadata: encodeGrounding(cited),
    logprobsResult: encodeLogprobs(candidate.logprobs),
  })
}

/** As Google says nothing: LangChain takes a candidate without content for a failure, which it is where a filter left none. */
function emptyContent(reason: string): JsonObject | undefined {
  return reason === 'SAFETY' || reason === 'PROHIBITED_CONTENT' ? undefined : { role: 'model' }
}

interface EncodedParts {
  parts: WirePart[]
  cited: CitedText[]
  /** A call could not be written. */
  malformed: boolean
}

function encodeParts(parts: readonly Part[], shows: boolean): EncodedParts {
  const encoded: EncodedParts = { parts: [], cited: [], malformed: false }
  // The signature of thoughts that stand before the next part.
  let pending: Signature | undefined
  let thoughts: ReasoningPart[] = []
  for (const part of parts) {
    if (part.type === 'reasoning') {
      const texts = part.texts.filter(text => text !== '')
      if (travelsOnCall(part)) thoughts.push({ ...part, texts })
      const thought = encodeThought(part, shows)
      if (thought.shown !== undefined) encoded.parts.push(thought.shown)
      pending = thought.pending
      continue
    }
    const written = encodePart(part, pending, thoughts)
    if (part.type === 'tool-call') thoughts = []
    if (written === undefined) {
      encoded.malformed ||= part.type === 'tool-call'
      continue
    }
    if (part.type === 'text' && part.citations.length > 0) {
      encoded.cited.push({
        partIndex: encoded.parts.length,
        text: part.text,
        citations: [...part.citations],
      })
    }
    encoded.parts.push(written)
    if (part.type !== 'media' && part.type !== 'opaque') pending = undefined
  }
  return encoded
}

/** A thought as a part with its signature; one that is not shown leaves the signature to the next part. */
function encodeThought(
  part: ReasoningPart,
  shows: boolean,
): { shown: WirePart | undefined; pending: Signature | undefined } {
  const text = part.texts.join('\n\n')
  if (text === '') return { shown: undefined, pending: carriedSignature(part, 'none') }
  if (!shows) return { shown: undefined, pending: carriedSignature(part, 'hidden') }
  const thoughtSignature = signatureValue(carriedSignature(part, 'shown'))
  return { shown: present({ text, thought: true, thoughtSignature }), pending: undefined }
}

function encodePart(
  part: Exclude<Part, { type: 'reasoning' }>,
  pending: Signature | undefined,
  thoughts: readonly ReasoningPart[],
): WirePart | undefined {
  switch (part.type) {
    case 'text': {
      const thoughtSignature = signatureValue(part.signature ?? pending)
      if (part.text === '' && part.signature === undefined) return undefined
      return present({ text: part.text, thoughtSignature })
    }
    case 'refusal':
      return part.text === ''
        ? undefined
        : present({ text: part.text, thoughtSignature: signatureValue(pending) })
    case 'tool-call':
      return callPart(part, part.input, callSignature(part.signature ?? pending, thoughts))
    case 'media':
      return encodeAnswerMedia(part)
    case 'opaque':
      return part.format === FORMAT ? asObject(part.value) : undefined
    case 'tool-result':
      return undefined
    default:
      return part satisfies never
  }
}
