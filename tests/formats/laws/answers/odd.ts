import { type TSchema, Type } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { Format } from '@/generation/format.ts'
import { asObject, asObjects, asString, type JsonObject } from '@/json/json.ts'
import { MESSAGE, MESSAGE_EVENTS } from './anthropic-messages.ts'
import { GEMINI } from './gemini-generate-content.ts'
import { CHAT, CHUNK } from './openai-chat-completions.ts'
import { ITEMS, RESPONSE, RESPONSE_EVENTS } from './openai-responses.ts'
import { count, strict, text } from './shape.ts'

/**
 * Answers as the strictest clients of the four APIs read them: with every field that the official SDKs' types promise, in
 * words that these know, and with no field that neither they nor other vendors of the format have.
 */
const WHOLE: Record<Format, TypeCheck<TSchema>> = {
  'openai-chat-completions': TypeCompiler.Compile(CHAT),
  'openai-responses': TypeCompiler.Compile(RESPONSE),
  'anthropic-messages': TypeCompiler.Compile(MESSAGE),
  'gemini-generate-content': TypeCompiler.Compile(GEMINI),
}

const NEVER = TypeCompiler.Compile(Type.Never())
const CHUNKS = TypeCompiler.Compile(CHUNK)
const ITEM_CHECKS = compiled(ITEMS)
const EVENT_CHECKS = compiled({
  ...mapped(RESPONSE_EVENTS, fields => strict({ type: text, sequence_number: count, ...fields })),
  ...mapped(MESSAGE_EVENTS, fields => strict({ type: text, ...fields })),
})

function compiled(schemas: Record<string, TSchema>): Record<string, TypeCheck<TSchema>> {
  return mapped(schemas, schema => TypeCompiler.Compile(schema))
}

function mapped<A, B>(values: Record<string, A>, make: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value)]))
}

/** What of a whole answer no strict client would take. */
export function oddInAnswer(format: Format, answer: JsonObject): string[] {
  return [...oddities(WHOLE[format], answer), ...itemsOf(answer).flatMap(oddInItem)]
}

/** What of an event of a stream no strict client would take. */
export function oddInEvent(format: Format, event: JsonObject): string[] {
  if (format === 'openai-chat-completions') return oddities(CHUNKS, event)
  if (format === 'gemini-generate-content') return oddities(WHOLE[format], event)
  const items = [asObject(event['item']) ?? [], itemsOf(asObject(event['response']))].flat()
  return [...oddities(EVENT_CHECKS[asString(event['type']) ?? ''], event), ...items.flatMap(oddInItem)]
}

function itemsOf(response: JsonObject | undefined): JsonObject[] {
  return asObjects(response?.['output'])
}

function oddInItem(item: JsonObject): string[] {
  return oddities(ITEM_CHECKS[asString(item['type']) ?? ''], item)
}

/** @param check undefined where there is no such thing */
function oddities(check: TypeCheck<TSchema> = NEVER, value: JsonObject): string[] {
  if (check.Check(value)) return []
  return [...check.Errors(value)].map(
    ({ path, message, value: found }) => `${path}: ${message}, found ${JSON.stringify(found)}`,
  )
}
