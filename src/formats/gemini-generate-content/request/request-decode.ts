import type { ModelCall } from '@/formats/codec.ts'
import { decodeContents } from '@/formats/gemini-generate-content/contents-decode.ts'
import { FORMAT } from '@/formats/gemini-generate-content/wire.ts'
import { assertShape } from '@/formats/shape.ts'
import { type TextPart, textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asArray, asBoolean, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { configExtensions, decodeConfig } from './config-decode.ts'
import { callerPath, camelKeys } from './keys.ts'
import { REQUEST } from './request-schema.ts'
import { decodeToolChoice, decodeTools } from './tools-decode.ts'
import { unreadFieldsOf } from './unread-fields.ts'

/** Reads a caller's generateContent request (Codec.decodeRequest). */
export function decodeRequest(body: JsonObject, call: ModelCall): GenerationRequest {
  const wire = camelKeys(body)
  assertShape(REQUEST, wire, path => callerPath(path, body))
  const {
    contents,
    systemInstruction,
    tools,
    toolConfig,
    generationConfig,
    serviceTier,
    store,
    // Beside the body's own fields: clients that repeat the path here.
    model: _model,
    ...unknown
  } = wire
  const config = asObject(generationConfig) ?? {}
  const { functionCallingConfig, ...otherToolConfig } = asObject(toolConfig) ?? {}
  const extensions = {
    ...unknown,
    ...nested('toolConfig', otherToolConfig),
    ...nested('generationConfig', configExtensions(config)),
  }
  return {
    model: call.model,
    stream: call.stream,
    instructions: decodeInstructions(systemInstruction),
    turns: decodeContents(asArray(contents)),
    tools: decodeTools(asArray(tools)),
    toolChoice: decodeToolChoice(asObject(functionCallingConfig)),
    parallelToolCalls: undefined,
    verbosity: undefined,
    ...decodeConfig(config),
    logitBias: undefined,
    user: undefined,
    metadata: undefined,
    promptCacheKey: undefined,
    serviceTier: serviceTier === NO_TIER ? undefined : asString(serviceTier),
    store: asBoolean(store),
    extensions: Object.keys(extensions).length === 0 ? {} : { [FORMAT]: extensions },
    unread: unreadFieldsOf(wire),
  }
}

/** How Google's SDK spells that nothing was said. */
const NO_TIER = 'unspecified'

/** Unknown fields of an inner object, each under its own dotted name so that a loss can name it. */
function nested(parent: string, fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [`${parent}.${key}`, value]))
}

/** System text: a content with or without a role, one part, or plain text. */
function decodeInstructions(value: JsonValue | undefined): TextPart[] {
  const content = asObject(value)
  const parts = content?.['parts'] === undefined ? [content ?? { text: value }] : asArray(content['parts'])
  return parts.flatMap(part => {
    const text = asString(asObject(part)?.['text'])
    return text === undefined || text === '' ? [] : [textPart(text)]
  })
}
