import type { ReplyContext } from '@/formats/codec.ts'
import { FORMAT, type WireFunctionCall, type WirePart } from '@/formats/gemini-generate-content/wire.ts'
import { wrapSignature, wrapThoughts } from '@/formats/signatures/signature.ts'
import { inputObject } from '@/formats/tools/call-input.ts'
import type { MediaPart, ReasoningPart, Signature, ToolCallKind } from '@/generation/part.ts'
import { present } from '@/json/json.ts'

/** True when the caller asked to see thoughts (`includeThoughts`); Google sends none unasked. */
export function showsThoughts(context: ReplyContext): boolean {
  const summary = context.request.reasoning?.summary
  return summary !== undefined && summary !== 'none'
}

/** A signature as it travels with a caller of this format. */
export function signatureValue(signature: Signature | undefined): string | undefined {
  return signature === undefined ? undefined : wrapSignature(signature, FORMAT)
}

/**
 * The signature of thoughts as it may travel to this caller. Hidden thoughts lose theirs, since their maker wants
 * both back or neither; OpenAI's holds the thoughts themselves. A redacted one has no slot here.
 */
export function carriedSignature(
  reasoning: Pick<ReasoningPart, 'redacted' | 'signature'>,
  thoughts: 'shown' | 'hidden' | 'none',
): Signature | undefined {
  const { signature } = reasoning
  if (signature === undefined || reasoning.redacted) return undefined
  return thoughts === 'hidden' && signature.format !== 'openai-responses' ? undefined : signature
}

/**
 * What a call carries: its own signature, else that of the thoughts before it, else those thoughts themselves when
 * another vendor signed them. Gemini CLI drops thoughts and brings signatures back; with neither, a Claude that
 * thinks could not go on thinking after the call's result.
 */
export function callSignature(
  own: Signature | undefined,
  thoughts: readonly ReasoningPart[],
): string | undefined {
  return signatureValue(own) ?? (thoughts.length === 0 ? undefined : wrapThoughts(thoughts))
}

/** Whether a call must carry the thought: its maker is no Gemini, which would have signed the call. */
export function travelsOnCall(thought: ReasoningPart): boolean {
  return (
    thought.signature !== undefined && thought.signature.value !== '' && thought.signature.format !== FORMAT
  )
}

/** A call as its part; undefined when the input is no JSON object, which the caller's SDK could not hold. */
export function callPart(
  call: { kind: ToolCallKind; callId: string; name: string },
  input: string,
  thoughtSignature: string | undefined,
): WirePart | undefined {
  const args = inputObject(call.kind, input)
  if (args === undefined) return undefined
  const functionCall: WireFunctionCall = { id: call.callId, name: call.name, args }
  return present({ functionCall, thoughtSignature })
}

/** Media of an answer; undefined for what has neither bytes nor address. */
export function encodeAnswerMedia(media: MediaPart): WirePart | undefined {
  const { source } = media
  switch (source.type) {
    case 'base64':
      return present({
        inlineData: { mimeType: media.mediaType ?? FALLBACK[media.kind], data: source.data },
        thoughtSignature: signatureValue(media.signature),
        audioTranscription:
          media.kind === 'audio' && media.context !== undefined ? { text: media.context } : undefined,
      })
    case 'url':
      return { fileData: present({ mimeType: media.mediaType, fileUri: source.url }) }
    case 'file-id':
      return { fileData: present({ mimeType: media.mediaType, fileUri: source.id }) }
    case 'text':
      return source.text === '' ? undefined : { text: source.text }
    default:
      return source satisfies never
  }
}

const FALLBACK: Record<MediaPart['kind'], string> = {
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
  document: 'application/octet-stream',
}
