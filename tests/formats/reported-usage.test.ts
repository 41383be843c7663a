import { describe, expect, test } from 'bun:test'
import { recordings } from '#tests/transcripts/recording.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import type { Usage } from '@/generation/usage.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

/** What a reading of the whole answer finds; a message for an answer that is none. */
function found(format: Format, body: JsonObject): Usage | string | undefined {
  try {
    return CODECS[format].decodeResponse(body, { vendor: 'example', newId: () => 'id' }).usage
  } catch (error) {
    return String(error)
  }
}

/** Values that stand where another was expected. */
const ODD: JsonValue[] = [
  null,
  0,
  '',
  'error',
  [],
  {},
  [null],
  { message: 'm' },
  { usage: { prompt_tokens: 7 } },
]

/** The body with one field of it, at any depth, taken out or replaced by something odd. */
function* disturbed(body: JsonObject): Generator<JsonObject> {
  for (const path of pathsOf(body)) {
    yield edited(body, path, undefined)
    for (const odd of ODD) yield edited(body, path, odd)
  }
  for (const name of ['error', 'type', 'status', 'object', 'usage', 'message', 'x_groq', 'promptFeedback']) {
    for (const odd of [...ODD, 'failed', 'cancelled', { code: 'c' }]) yield { ...body, [name]: odd }
  }
}

/** At most three levels deep, and the first two items of a list: where answers differ. */
function* pathsOf(value: JsonValue, path: string[] = []): Generator<string[]> {
  if (path.length > 0) yield path
  if (path.length === 3 || typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value).slice(0, Array.isArray(value) ? 2 : undefined)) {
    if (inner !== undefined) yield* pathsOf(inner, [...path, name])
  }
}

function edited(body: JsonObject, path: readonly string[], value: JsonValue | undefined): JsonObject {
  const copy = structuredClone(body)
  const names = [...path]
  const last = names.pop() ?? ''
  let at: JsonValue | undefined = copy
  for (const name of names) at = inside(at)[name]
  if (Array.isArray(at) && value === undefined) at.splice(Number(last), 1)
  else if (value === undefined) delete inside(at)[last]
  else inside(at)[last] = value
  return copy
}

/** An object or a list by its keys: both take them, and the path was read from them. */
function inside(value: JsonValue | undefined): JsonObject {
  return value as JsonObject
}

/** Its only candidate is ours. */
const MUST_BE_READ = 'gemini-generate-content/prompt-blocked'

describe('the usage of a whole answer is told without reading the rest', () => {
  for (const { format, name, response } of recordings()) {
    if (response === undefined) continue
    test(`${format}/${name}`, () => {
      const usage = `${format}/${name}` === MUST_BE_READ ? undefined : found(format, response)
      expect<unknown>(CODECS[format].reportedUsage(response)).toEqual(usage)
    })
    test(`${format}/${name}, disturbed: the same usage or none`, () => {
      for (const body of disturbed(response)) {
        const told = CODECS[format].reportedUsage(body)
        if (told !== undefined)
          expect<unknown>({ body, usage: told }).toEqual({ body, usage: found(format, body) })
      }
    })
  }
})
