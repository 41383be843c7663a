import { type MediaPart, type TextPart, type ToolResultPart, textPart } from '@/generation/part.ts'
import { parseExactObject } from '@/json/exact.ts'
import { asArray, asObject, asString, type JsonObject } from '@/json/json.ts'
import { decodeMedia } from './media.ts'

/** The content of a functionResponse: its object as text, then its media. */
export function decodeResult(response: JsonObject): { content: (TextPart | MediaPart)[]; isError: boolean } {
  const { text, isError } = responseText(asObject(response['response']) ?? {})
  const media = asArray(response['parts']).flatMap(part => decodeMedia(asObject(part) ?? {}) ?? [])
  const content = text === '{}' && media.length > 0 ? media : [textPart(text), ...media]
  return { content, isError }
}

/** Keys under which an object is a mere wrapper of a text. */
const WRAPPERS = ['result', 'output', 'content'] as const

function responseText(response: JsonObject): { text: string; isError: boolean } {
  const keys = Object.keys(response)
  const error = keys.length === 1 ? asString(response['error']) : undefined
  if (error !== undefined) return { text: error, isError: true }
  const wrapper = keys.length === 1 ? WRAPPERS.find(key => key === keys[0]) : undefined
  const text = wrapper === undefined ? undefined : asString(response[wrapper])
  return { text: text ?? JSON.stringify(response), isError: false }
}

/** A result's text as the object that Gemini wants: a JSON object as it is, anything else wrapped. */
export function encodeResult(result: ToolResultPart): JsonObject {
  const text = resultText(result)
  if (result.isError) return { error: text }
  return parseExactObject(text) ?? { result: text }
}

/** The text parts of a result as one text. */
export function resultText(result: ToolResultPart): string {
  return result.content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}
