import { unwrapSignature, wrapSignature } from '@/formats/signatures/signature.ts'
import type { Signature } from '@/generation/part.ts'
import { asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { FORMAT } from './wire.ts'

/** Before a signature that stood under `vertex`. */
const VERTEX = 'vertex:'
/** Before one that stood where LiteLLM has those of calls. */
const LITELLM = 'litellm:'

/** Gemini's own surface of this format keeps a signature here on a call, a message or an image; others' may elsewhere. */
export function thoughtSignature(holder: JsonObject, vendor: string | undefined): Signature | undefined {
  const { extra_content, provider_specific_fields } = holder
  if (extra_content === undefined && provider_specific_fields === undefined) return undefined
  const extra = asObject(extra_content)
  const value =
    signatureIn(extra?.['google']) ||
    signatureIn(extra?.['vertex'], VERTEX) ||
    signatureIn(provider_specific_fields, LITELLM)
  return value ? { format: FORMAT, vendor, value } : undefined
}

function signatureIn(fields: JsonValue | undefined, place = ''): string | undefined {
  const value = asString(asObject(fields)?.['thought_signature'])
  return value && place + value
}

/** The signature on what a caller brings back, perhaps wrapped. */
export function returnedSignature(holder: JsonObject): Signature | undefined {
  const own = thoughtSignature(holder, undefined)
  return own && unwrapSignature(own.value, FORMAT)
}

/** The field in which its maker gets a signature back: it is looked for where it was. */
export function signatureField(value: string | undefined): JsonObject {
  if (value === undefined) return {}
  if (value.startsWith(LITELLM)) {
    return { provider_specific_fields: { thought_signature: value.slice(LITELLM.length) } }
  }
  const isVertex = value.startsWith(VERTEX)
  return {
    extra_content: isVertex
      ? { vertex: { thought_signature: value.slice(VERTEX.length) } }
      : { google: { thought_signature: value } },
  }
}

/** The field in which a caller gets one; callers bring `extra_content` back as it was. */
export function replySignatureField(signature: Signature | undefined): JsonObject {
  if (signature === undefined) return {}
  return { extra_content: { google: { thought_signature: wrapSignature(signature, FORMAT) } } }
}
