import type { Passage, PassedBody, PassthroughCodec } from '@/formats/codec.ts'
import { modelEdits } from '@/formats/model-edit.ts'
import { asArray, asNonEmpty, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { JsonEdit } from '@/json/splice.ts'
import { fullName, modelTraits } from './models.ts'
import { SIGNATURE_BYPASS } from './signature-bypass.ts'

/** See PassthroughCodec. */
export const passthrough: PassthroughCodec = {
  edits,
  // The calls behind the results may stand in a cache, which the gateway cannot read.
  takes: ({ contents, cachedContent, cached_content: cached = cachedContent }) =>
    asNonEmpty(cached) !== undefined || isAnswered(asArray(contents).map(readContent)),
  signatures,
  headers: [],
  usualHeaders: Object.freeze({}),
  listening: () => ({ hidesUsage: false, readsAll: false, chunksOnly: true }),
}

function edits({ json }: PassedBody, passage: Passage): JsonEdit[] {
  const { target, purpose, outputLimit, withoutReasoning } = passage
  // The path says it; clients that say it here as well say the caller's name of it.
  const found = modelEdits(json, fullName(target.model))
  if (outputLimit !== undefined) {
    const config = 'generation_config' in json ? 'generation_config' : 'generationConfig'
    found.push({ path: [config, 'maxOutputTokens'], value: outputLimit })
  }
  if (withoutReasoning) found.push(...unsigningEdits(json))
  if (purpose === 'answer' && modelTraits(target.model).refusesUnsignedCalls) {
    found.push(...signingEdits(json, withoutReasoning))
  }
  return found
}

const SIGNATURES = ['thoughtSignature', 'thought_signature'] as const

function signatures({ json, texts }: PassedBody): string[] {
  return asArray(json['contents'])
    .flatMap(content => readContent(content).parts)
    .flatMap(part => SIGNATURES.flatMap(name => asString(part?.[name]) ?? []))
    .map(text => texts.whole(text))
}

/** Takes the signatures off; thoughts say nothing to the model without. */
function unsigningEdits(json: JsonObject): JsonEdit[] {
  return asArray(json['contents']).flatMap((content, place) =>
    readContent(content).parts.flatMap((part, index) =>
      SIGNATURES.filter(name => part?.[name] !== undefined).map(
        (name): JsonEdit => ({ path: ['contents', place, 'parts', index, name], remove: true }),
      ),
    ),
  )
}

/**
 * What stands for the signature of calls that another upstream made in the turn that the model is still working on: it
 * refuses a step there whose first call has none.
 */
function signingEdits(json: JsonObject, isUnsigned: boolean): JsonEdit[] {
  const contents = asArray(json['contents']).map(readContent)
  const begins = contents.findLastIndex((content, place) => beginsTurn(content, contents[place - 1]))
  const found: JsonEdit[] = []
  let isAnswered = true
  for (const [place, { isModel, parts }] of contents.entries()) {
    const index = parts.findIndex(isCall)
    if (!isModel) isAnswered = true
    else if (index >= 0) {
      const name = 'thought_signature' in (parts[index] ?? {}) ? 'thought_signature' : 'thoughtSignature'
      const isSigned = !isUnsigned && (asString(parts[index]?.[name]) ?? '') !== ''
      const path = ['contents', place, 'parts', index, name]
      if (place > begins && isAnswered && !isSigned) found.push({ path, value: SIGNATURE_BYPASS })
      isAnswered = false
    }
  }
  return found
}

/**
 * Whether the content behind the model's has as many results as that has calls, without which Google refuses a
 * conversation. Clients answer parallel calls in a content each, or leave out those that were cancelled.
 */
function isAnswered(contents: readonly Content[]): boolean {
  let calls = 0
  for (const { isModel, parts } of contents) {
    if (isModel) {
      calls += parts.filter(isCall).length // a stream that is kept by its chunks is several of the model's contents
      continue
    }
    if (parts.filter(isResult).length !== calls) return false
    calls = 0
  }
  return true
}

interface Content {
  isModel: boolean
  parts: readonly (JsonObject | undefined)[]
}

function readContent(value: JsonValue): Content {
  const content = asObject(value)
  const role = asString(content?.['role'])?.toLowerCase()
  return { isModel: role === 'model', parts: asArray(content?.['parts']).map(asObject) }
}

function isCall(part: JsonObject | undefined): boolean {
  return part !== undefined && ('functionCall' in part || 'function_call' in part)
}

function isResult(part: JsonObject | undefined): boolean {
  return part !== undefined && ('functionResponse' in part || 'function_response' in part)
}

/** As where the conversation is written anew (contents-encode.ts): text beside results does not count. */
function beginsTurn({ isModel, parts }: Content, before: Content | undefined): boolean {
  return !isModel && !parts.some(isResult) && before?.parts.some(isCall) !== true
}
