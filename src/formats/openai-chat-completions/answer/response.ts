import type { DecodeContext, ReplyContext } from '@/formats/codec.ts'
import { brokenAnswer, errorInAnswer } from '@/formats/faults/fault.ts'
import { mediaWords } from '@/formats/media/media-words.ts'
import { openaiTier } from '@/formats/openai/shared-fields.ts'
import {
  audioEntry,
  hidesReasoning,
  imageEntry,
  isCustom,
  isLegacyCaller,
  readsOpenrouter,
  reasoningEntry,
  replyId,
} from '@/formats/openai-chat-completions/reply.ts'
import { replySignatureField } from '@/formats/openai-chat-completions/thought-signature.ts'
import { Collector } from '@/generation/collect.ts'
import { type Part, type TextPart, type ToolCallPart, textPart } from '@/generation/part.ts'
import type { Candidate, GenerationResponse } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import { asObject, isJsonObject, type JsonObject, parseObject, present } from '@/json/json.ts'
import { encodeAnnotation } from './citations.ts'
import { decodeBreak, encodeFinish, MOST_CHOICES, SKIPPED } from './finish.ts'
import { AnswerDecoder, isFault } from './stream-decode.ts'
import { encodeUsage, readUsage } from './usage.ts'

/**
 * Reads a whole answer as a stream of one chunk, so that both ways read every field alike.
 * @throws GatewayError `upstream_error` when the body is an error or no answer at all.
 */
export function decodeResponse(body: JsonObject, context: DecodeContext): GenerationResponse {
  if (isFault(body, undefined)) throw errorInAnswer(body)
  if (!Array.isArray(body['choices'])) throw brokenAnswer("The upstream's answer is not a chat completion")
  const collector = new Collector()
  const answer = new AnswerDecoder(context)
  const emit = collector.push.bind(collector)
  answer.push(body, 'message', emit)
  if (answer.broken !== undefined) throw answer.broken
  answer.end(emit)
  return collector.response()
}

/** See Codec. */
export function reportedUsage(body: JsonObject): Usage | undefined {
  const { choices } = body
  if (isFault(body, undefined) || !Array.isArray(choices)) return undefined
  if (choices.some(choice => isJsonObject(choice) && decodeBreak(choice) !== undefined)) return undefined
  return readUsage(asObject(body['usage']))
}

/** Writes a `chat.completion`. */
export function encodeResponse(response: GenerationResponse, context: ReplyContext): JsonObject {
  return present({
    id: replyId(context),
    object: 'chat.completion',
    created: context.createdAt,
    model: context.model,
    choices: inTheirPlaces(response.candidates).map(candidate => encodeChoice(candidate, context)),
    usage: response.usage && encodeUsage(response.usage),
    ...openaiTier(response.serviceTier),
  })
}

/** Clients take a choice's place for its number, so one that the upstream skipped has an empty place, as in a stream. */
function inTheirPlaces(candidates: readonly Candidate[]): Candidate[] {
  const placed: Candidate[] = []
  for (const candidate of candidates) {
    for (let index = placed.length; index < Math.min(candidate.index, MOST_CHOICES); index += 1)
      placed.push({ index, parts: [], finish: SKIPPED, logprobs: [] })
    placed.push(candidate)
  }
  return placed
}

function encodeChoice(candidate: Candidate, context: ReplyContext): JsonObject {
  const { index, logprobs, parts, finish } = candidate
  const calls = parts.filter(part => part.type === 'tool-call')
  const facts = {
    calls: calls.length > 0,
    usable: calls.some(call => isCustom(call.kind) || parseObject(argumentsOf(call)) !== undefined),
    refused: parts.some(part => part.type === 'refusal'),
  }
  return {
    index,
    message: encodeMessage(candidate, context),
    logprobs: logprobs.length === 0 ? null : { content: [...logprobs], refusal: null },
    finish_reason: encodeFinish(finish.reason, facts, isLegacyCaller(context)),
  }
}

function encodeMessage(candidate: Candidate, context: ReplyContext): JsonObject {
  const { texts, ...media } = spread(candidate.parts, context)
  const isSilent = texts.length === 0 && candidate.parts.some(isMoreThanThought)
  return {
    role: 'assistant',
    content: isSilent ? null : texts.map(part => part.text).join(''),
    refusal: refusalOf(candidate),
    ...reasoningFields(candidate, context),
    ...callFields(candidate, context),
    ...annotationFields(texts),
    ...media,
    ...replySignatureField(texts.findLast(part => part.signature !== undefined)?.signature),
  }
}

/** Whether a part is told beside the content, which is null then. An answer cut off in thought has an empty one, as at OpenAI. */
function isMoreThanThought({ type }: Part): boolean {
  return type !== 'reasoning' && type !== 'opaque'
}

/** The words of refusal: the model's, else the vendor's. */
function refusalOf({ parts, finish }: Candidate): string | null {
  const refusals = parts.filter(part => part.type === 'refusal')
  if (refusals.length > 0) return refusals.map(part => part.text).join('')
  return finish.reason === 'refusal' ? (finish.message ?? null) : null
}

/** Texts, images and sound, each in its field. A message has one sound; media without a field are text. */
function spread(
  parts: readonly Part[],
  context: ReplyContext,
): { texts: TextPart[]; images?: JsonObject[]; audio?: JsonObject } {
  const texts: TextPart[] = []
  const images: JsonObject[] = []
  let audio: JsonObject | undefined
  for (const part of parts) {
    if (part.type === 'text') texts.push(part)
    if (part.type !== 'media') continue
    const image = imageEntry(part, images.length)
    const sound = audio === undefined ? audioEntry(part, context) : undefined
    if (image !== undefined) images.push(image)
    else if (sound !== undefined) audio = sound
    else {
      const hasWords = texts.some(({ text }) => text !== '')
      texts.push(textPart((hasWords ? '\n\n' : '') + mediaWords(part)))
    }
  }
  return { texts, ...(images.length > 0 && { images }), ...(audio !== undefined && { audio }) }
}

function reasoningFields(candidate: Candidate, context: ReplyContext): JsonObject {
  const isHidden = hidesReasoning(context)
  const thoughts = candidate.parts
    .filter(part => part.type === 'reasoning')
    .map(part => ({ ...part, text: isHidden ? '' : part.texts.join('\n\n') }))
  const text = thoughts
    .map(thought => thought.text)
    .filter(thought => thought !== '')
    .join('\n\n')
  const details = thoughts
    .flatMap(({ signature, ...thought }) => (signature === undefined ? [] : [{ ...thought, signature }]))
    .map(reasoningEntry)
  return {
    ...(text === '' ? {} : { reasoning_content: text }),
    ...(text !== '' && readsOpenrouter(context) && { reasoning: text }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  }
}

function callFields(candidate: Candidate, context: ReplyContext): JsonObject {
  const calls = candidate.parts.filter(part => part.type === 'tool-call')
  const [first] = calls
  if (first === undefined) return {}
  if (isLegacyCaller(context)) {
    return { function_call: { name: first.name, arguments: argumentsOf(first) } }
  }
  return { tool_calls: calls.map(encodeCall) }
}

function encodeCall(call: ToolCallPart): JsonObject {
  const extra = replySignatureField(call.signature)
  if (isCustom(call.kind)) {
    return { id: call.callId, type: 'custom', custom: { name: call.name, input: call.input }, ...extra }
  }
  const body = { name: call.name, arguments: argumentsOf(call) }
  return { id: call.callId, type: 'function', function: body, ...extra }
}

/** An empty string of arguments is not JSON, and clients parse it. */
function argumentsOf(call: ToolCallPart): string {
  return call.input === '' ? '{}' : call.input
}

function annotationFields(texts: readonly TextPart[]): JsonObject {
  const annotations: JsonObject[] = []
  let offset = 0
  for (const { citations, text } of texts) {
    for (const citation of citations) {
      const annotation = encodeAnnotation(citation, offset, text.length)
      if (annotation !== undefined) annotations.push(annotation)
    }
    offset += text.length
  }
  return annotations.length === 0 ? {} : { annotations }
}
