import { unwrapSignature, wrapSignature } from '@/formats/signatures/signature.ts'
import type { Signature } from '@/generation/part.ts'
import { asObject, asString, type JsonObject } from '@/json/json.ts'
import { FORMAT } from './wire.ts'

/** Before a signature that stood under `vertex`. */
const VERTEX = 'vertex:'

/** Gemini's own surface of this format keeps a signature here on a call, a message or an image; Vertex's may too. */
export function thoughtSignature(holder: JsonObject, vendor: string | undefined): Signature | undefined {
  const extra = asObject(holder['extra_content'])
  if (extra === undefined) return undefined
  const value = asString(asObject(extra['google'])?.['thought_signature'])
  const vertex = asString(asObject(extra['vertex'])?.['thought_signature'])
  if (value) return { format: FORMAT, vendor, value }
  return vertex ? { format: FORMAT, vendor, value: VERTEX + vertex } : undefined
}

/** The same on what a caller brings back, perhaps wrapped. */
export function returnedSignature(holder: JsonObject): Signature | undefined {
  const own = thoughtSignature(holder, undefined)
  return own && unwrapSignature(own.value, FORMAT)
}

/** The field in which its maker gets a signature back: it is looked for where it was. */
export function signatureField(value: string | undefined): JsonObject {
  if (value === undefined) return {}
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
