import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

/** Token objects as Responses has them: their bytes are a list, where those of Chat may be null or not be there. */
export function encodeLogprobs(content: readonly JsonValue[]): JsonObject[] {
  return content.map(token => ({
    ...withBytes(token),
    top_logprobs: asArray(asObject(token)?.['top_logprobs']).map(withBytes),
  }))
}

function withBytes(token: JsonValue): JsonObject {
  const wire = asObject(token) ?? {}
  return { ...wire, bytes: wire['bytes'] ?? [...Buffer.from(asString(wire['token']) ?? '', 'utf8')] }
}
