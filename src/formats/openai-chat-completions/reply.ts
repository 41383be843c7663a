import type { ReplyContext } from '@/formats/codec.ts'
import { dataUri } from '@/formats/media/data-uri.ts'
import { wrapSignature } from '@/formats/signatures/signature.ts'
import type { MediaPart, ReasoningPart, Signature, ToolCallKind } from '@/generation/part.ts'
import { asBoolean, asObject, type JsonObject } from '@/json/json.ts'
import { replySignatureField } from './thought-signature.ts'
import { isLegacyRequest } from './tools-decode.ts'
import { FORMAT } from './wire.ts'

/** The id of a reply: constant through a stream, and found again in the log by its request id. */
export function replyId(context: ReplyContext): string {
  return `chatcmpl-${context.requestId.replaceAll('-', '')}`
}

/** True when the caller spoke of `functions` and so reads `function_call`. */
export function isLegacyCaller(context: ReplyContext): boolean {
  return isLegacyRequest(context.wire)
}

/** True when a request asks for the usage chunk of a stream, in OpenAI's words or in OpenRouter's (`usage.include`). */
export function wantsUsage(body: JsonObject): boolean {
  return asksOpenaiForUsage(body) || asBoolean(asObject(body['usage'])?.['include']) === true
}

/** True when a request asks for the usage chunk of a stream in OpenAI's words, which all upstreams know. */
export function asksOpenaiForUsage(body: JsonObject): boolean {
  return asBoolean(asObject(body['stream_options'])?.['include_usage']) === true
}

/**
 * True when the caller speaks of thoughts or usage in OpenRouter's words, and so may read thoughts in `reasoning`
 * alone, as its provider for the AI SDK does, and LiteLLM under the name of OpenRouter.
 */
export function readsOpenrouter({ wire }: ReplyContext): boolean {
  return asObject(wire['reasoning']) !== undefined || asObject(wire['usage']) !== undefined
}

/** True when the caller asked not to see thoughts. */
export function hidesReasoning(context: ReplyContext): boolean {
  return context.request.reasoning?.summary === 'none'
}

/** A caller of this format knows two kinds of tools; what a client tool calls was offered as a function. */
export function isCustom(kind: ToolCallKind): boolean {
  return kind === 'custom'
}

/**
 * Reasoning with its signature as an entry of `reasoning_details`, which clients bring back unchanged. It holds the
 * whole text: the message's `reasoning_content` may join several thoughts, and each belongs to its own signature.
 */
export function reasoningEntry(
  reasoning: Pick<ReasoningPart, 'id' | 'redacted'> & { text: string; signature: Signature },
  index: number,
): JsonObject {
  const sealed = wrapSignature(reasoning.signature, FORMAT)
  const id = reasoning.id ?? null
  if (reasoning.redacted) return { type: 'reasoning.encrypted', data: sealed, id, format: null, index }
  return { type: 'reasoning.text', text: reasoning.text, signature: sealed, id, format: null, index }
}

/** A generated image as OpenRouter writes it; undefined for media that the format has no place for. */
export function imageEntry(media: MediaPart, index: number): JsonObject | undefined {
  if (media.kind !== 'image') return undefined
  const { source } = media
  if (source.type !== 'base64' && source.type !== 'url') return undefined
  const url = source.type === 'url' ? source.url : dataUri(media.mediaType ?? 'image/png', source.data)
  return { type: 'image_url', image_url: { url }, index, ...replySignatureField(media.signature) }
}

/** A spoken answer. */
export function audioEntry(media: MediaPart, context: ReplyContext): JsonObject | undefined {
  if (media.kind !== 'audio' || media.source.type !== 'base64') return undefined
  return {
    id: `audio_${context.requestId.replaceAll('-', '')}`,
    data: media.source.data,
    transcript: media.context ?? '',
    expires_at: context.createdAt,
  }
}
