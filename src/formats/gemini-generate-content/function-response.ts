import { type MediaPart, type TextPart, type ToolResultPart, textPart } from '@/generation/part.ts'
import { parseExactObject } from '@/json/exact.ts'
import { asArray, asObject, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { decodeMedia } from './media.ts'

/** The content of a functionResponse: its object as text, or what stands in an object's place, then its media. */
export function decodeResult(response: JsonObject): { content: (TextPart | MediaPart)[]; isError: boolean } {
  const { text, isError } = responseText(response['response'] ?? {})
  const media = asArray(response['parts']).flatMap(part => decodeMedia(asObject(part) ?? {}) ?? [])
  const content = text === '{}' && media.length > 0 ? media : [textPart(text), ...media]
  return { content, isError }
}

/** Keys under which an object is a mere wrapper of a text. */
const WRAPPERS = ['result', 'output', 'content'] as const

function responseText(response: JsonValue): { text: string; isError: boolean } {
  if (!isJsonObject(response)) return { text: asString(response) ?? JSON.stringify(response), isError: false }
  const keys = Object.keys(response)
  const error = keys.length === 1 ? asString(response['error']) : undefined
  if (error !== undefined) return { text: error, isError: true }
  const wrapper = keys.length === 1 ? WRAPPERS.find(key => key === keys[0]) : undefined
  const text = wrapper === undefined ? undefined : asString(response[wrapper])
  return { text: text ?? JSON.stringify(response), isError: false }
}

/**
 * A result's text as the object that Gemini wants: a JSON object as it is, anything else wrapped. So is one that holds a
 * `$ref`, as a JSON Schema or an OpenAPI document does: Gemini takes it for the name of one of the result's media and
 * refuses the conversation that has none of that name. https://github.com/twentyhq/twenty/issues/21712
 */
export function encodeResult(result: ToolResultPart): JsonObject {
  const text = resultText(result)
  if (result.isError) return { error: text }
  const object = parseExactObject(text)
  return object === undefined || refers(object, text) ? { result: text } : object
}

/** Whether an object, or one within it, has a `$ref`. In JSON the quotes of a text would be escaped. */
function refers(object: JsonObject, text: string): boolean {
  return text.includes('$ref') && JSON.stringify(object).includes('"$ref":')
}

/** The text parts of a result as one text. */
function resultText(result: ToolResultPart): string {
  return result.content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}
