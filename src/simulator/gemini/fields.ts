import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { Failure } from '@/simulator/failure.ts'

/** A field's type: another message, a list or a map of them, an enum, or a leaf that is taken as it is. */
type FieldType =
  | 'leaf'
  | { message: () => Message }
  | { list: () => Message }
  | { map: () => Message }
  | { enum: readonly string[] }

type Message = Record<string, FieldType>

/**
 * Google's parser knows every field and refuses the rest, at every depth. Checks a request against the public protos and
 * returns it with camelCase names (snake_case is accepted on the way in, never inside free-form values) and with names of
 * enums' values, which may come as numbers.
 */
export function checkGeminiFields(body: JsonObject): JsonObject {
  return checkMessage(body, REQUEST, '')
}

/** The body of countTokens: contents, or a whole request inside. */
export function checkGeminiCountFields(body: JsonObject): JsonObject {
  return checkMessage(body, { ...REQUEST, generateContentRequest: { message: () => REQUEST } }, '')
}

function checkMessage(value: JsonObject, message: Message, path: string): JsonObject {
  const result: JsonObject = {}
  for (const [key, field] of Object.entries(value)) {
    const name = key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const type = Object.hasOwn(message, name) ? message[name] : undefined
    if (type === undefined) refuseUnknown(key, path)
    else if (field !== undefined && field !== null)
      result[name] = checkField(field, type, path === '' ? snake(name) : `${path}.${snake(name)}`)
  }
  return result
}

function checkField(value: JsonValue, type: FieldType, path: string): JsonValue {
  if (type === 'leaf') return value
  if ('enum' in type) return typeof value === 'number' ? (type.enum[value] ?? value) : value
  if ('message' in type) return checkMessage(requireMessage(value, path), type.message(), path)
  if ('list' in type) {
    // Google's parser takes a single value for a repeated field.
    const items = Array.isArray(value) ? value : [value]
    return items.map((item, index) =>
      checkMessage(requireMessage(item, `${path}[${index}]`), type.list(), `${path}[${index}]`),
    )
  }
  const entries = Object.entries(requireMessage(value, path))
  return Object.fromEntries(
    entries.map(([key, item]) => [
      key,
      checkMessage(requireMessage(item, `${path}[${key}].value`), type.map(), `${path}[${key}].value`),
    ]),
  )
}

function requireMessage(value: JsonValue | undefined, path: string): JsonObject {
  if (isJsonObject(value)) return value
  throw new Failure(
    400,
    `Invalid value at '${path}' (type.googleapis.com/google.ai.generativelanguage.v1beta), ${JSON.stringify(value)}`,
  )
}

function refuseUnknown(key: string, path: string): never {
  const where = path === '' ? '' : ` at '${path}'`
  throw new Failure(400, `Invalid JSON payload received. Unknown name "${key}"${where}: Cannot find field.`)
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

function leaves(...names: string[]): Message {
  return Object.fromEntries(names.map(name => [name, 'leaf' as const]))
}

/** In the order of their numbers, as the others below. */
export const SCHEMA_TYPES = [
  'TYPE_UNSPECIFIED',
  'STRING',
  'NUMBER',
  'INTEGER',
  'BOOLEAN',
  'ARRAY',
  'OBJECT',
  'NULL',
]

const CALLING_MODES = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']

const SCHEMA: Message = {
  type: { enum: SCHEMA_TYPES },
  ...leaves(
    'format',
    'title',
    'description',
    'nullable',
    'enum',
    'maxItems',
    'minItems',
    'required',
    'minProperties',
    'maxProperties',
    'minLength',
    'maxLength',
    'pattern',
    'example',
    'default',
    'minimum',
    'maximum',
    'propertyOrdering',
  ),
  properties: { map: () => SCHEMA },
  items: { message: () => SCHEMA },
  anyOf: { list: () => SCHEMA },
}

const BLOB = leaves('mimeType', 'data', 'displayName')

const PART: Message = {
  ...leaves('text', 'thought', 'thoughtSignature', 'partMetadata'),
  inlineData: { message: () => BLOB },
  fileData: { message: () => leaves('mimeType', 'fileUri', 'displayName') },
  functionCall: { message: () => leaves('id', 'name', 'args', 'partialArgs', 'willContinue') },
  functionResponse: {
    message: () => ({
      ...leaves('id', 'name', 'response', 'willContinue', 'scheduling'),
      parts: {
        list: () => ({
          inlineData: { message: () => BLOB },
          fileData: { message: () => leaves('mimeType', 'fileUri', 'displayName') },
        }),
      },
    }),
  },
  executableCode: { message: () => leaves('id', 'language', 'code') },
  codeExecutionResult: { message: () => leaves('id', 'outcome', 'output') },
  toolCall: { message: () => leaves('id', 'toolType', 'args') },
  toolResponse: { message: () => leaves('id', 'toolType', 'response') },
  videoMetadata: { message: () => leaves('startOffset', 'endOffset', 'fps') },
  mediaResolution: { message: () => leaves('level', 'numTokens') },
}

const CONTENT: Message = { ...leaves('role'), parts: { list: () => PART } }

const FUNCTION_DECLARATION: Message = {
  ...leaves('name', 'description', 'behavior', 'parametersJsonSchema', 'responseJsonSchema'),
  parameters: { message: () => SCHEMA },
  response: { message: () => SCHEMA },
}

const TOOL: Message = {
  ...leaves(
    'googleSearchRetrieval',
    'codeExecution',
    'googleSearch',
    'computerUse',
    'urlContext',
    'fileSearch',
    'googleMaps',
    'mcpServers',
    'retrieval',
    'enterpriseWebSearch',
  ),
  functionDeclarations: { list: () => FUNCTION_DECLARATION },
}

const GENERATION_CONFIG: Message = {
  ...leaves(
    'candidateCount',
    'stopSequences',
    'maxOutputTokens',
    'temperature',
    'topP',
    'topK',
    'seed',
    'responseMimeType',
    'responseJsonSchema',
    'responseFormat',
    'presencePenalty',
    'frequencyPenalty',
    'responseLogprobs',
    'logprobs',
    'enableEnhancedCivicAnswers',
    'responseModalities',
    'speechConfig',
    'imageConfig',
    'mediaResolution',
    'audioTimestamp',
  ),
  responseSchema: { message: () => SCHEMA },
  thinkingConfig: { message: () => leaves('includeThoughts', 'thinkingBudget', 'thinkingLevel') },
}

const TOOL_CONFIG: Message = {
  functionCallingConfig: {
    message: () => ({
      mode: { enum: CALLING_MODES },
      ...leaves('allowedFunctionNames', 'streamFunctionCallArguments'),
    }),
  },
  ...leaves('retrievalConfig', 'includeServerSideToolInvocations'),
}

const REQUEST: Message = {
  ...leaves('model', 'cachedContent', 'labels', 'serviceTier', 'store'),
  contents: { list: () => CONTENT },
  systemInstruction: { message: () => CONTENT },
  tools: { list: () => TOOL },
  toolConfig: { message: () => TOOL_CONFIG },
  safetySettings: { list: () => leaves('category', 'threshold', 'method') },
  generationConfig: { message: () => GENERATION_CONFIG },
}
