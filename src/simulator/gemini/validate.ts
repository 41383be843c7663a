import {
  asArray,
  asNumber,
  asObject,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import type { DialectRequest } from '@/simulator/exchange.ts'
import { refuse } from '@/simulator/failure.ts'
import { isGemini3 } from '@/simulator/model-family.ts'
import { addText, emptyPrompt, type OfferedTool, type Prompt, type ToolChoice } from '@/simulator/prompt.ts'
import { checkGeminiCountFields, checkGeminiFields, SCHEMA_TYPES } from './fields.ts'
import { readContents } from './validate-contents.ts'

/** Reads a generateContent request as strictly as Google does where that catches a wrong conversion. */
export function readGemini({ body, pathModel, pathStreams, counts }: DialectRequest): Prompt {
  const prompt = emptyPrompt(pathModel, pathStreams)
  const checked = counts ? checkGeminiCountFields(body) : checkGeminiFields(body)
  const request = asObject(checked['generateContentRequest']) ?? checked
  readTools(asArray(request['tools']), prompt)
  prompt.toolChoice = readToolConfig(
    asObject(asObject(request['toolConfig'])?.['functionCallingConfig']),
    prompt.tools,
  )
  readGenerationConfig(asObject(request['generationConfig']) ?? {}, prompt)
  for (const part of asArray(asObject(request['systemInstruction'])?.['parts'])) {
    const text = asString(asObject(part)?.['text'])
    if (text === undefined) return refuse('System instruction should contain text parts only.')
    addText(prompt, text)
  }
  readContents(asArray(request['contents']), prompt)
  return prompt
}

const GEMINI_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/

function readTools(tools: JsonValue[], prompt: Prompt): void {
  let builtIn = false
  for (const [index, value] of tools.entries()) {
    const { functionDeclarations, ...others } = asObject(value) ?? {}
    builtIn ||= Object.keys(others).length > 0
    addText(prompt, JSON.stringify(value))
    for (const [position, declaration] of asArray(functionDeclarations).entries()) {
      prompt.tools.push(
        readDeclaration(
          asObject(declaration) ?? {},
          `GenerateContentRequest.tools[${index}].function_declarations[${position}]`,
        ),
      )
    }
  }
  const names = new Set<string>()
  const duplicate = prompt.tools.find(({ name }) => names.size === names.add(name).size)
  if (duplicate !== undefined) refuse(`Duplicate function declaration found: ${duplicate.name}`)
  if (builtIn && prompt.tools.length > 0 && !isGemini3(prompt.model)) {
    refuse(
      'Built-in tools ({google_search}) and Function Calling cannot be combined in the same request. Please choose one.',
    )
  }
}

function readDeclaration(declaration: JsonObject, path: string): OfferedTool {
  const name = asString(declaration['name']) ?? ''
  if (!GEMINI_NAME.test(name)) {
    refuse(
      `${path}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.`,
    )
  }
  const { parameters, parametersJsonSchema } = declaration
  if (parameters !== undefined && parametersJsonSchema !== undefined)
    refuse(`${path}: parameters and parameters_json_schema are mutually exclusive.`)
  if (isJsonObject(parameters)) {
    if (typeNameOf(parameters) !== 'OBJECT') refuse(`${path}.parameters: schema should be of type OBJECT`)
    checkSchema(parameters, `${path}.parameters`)
  }
  return {
    name,
    kind: 'function',
    schema: asObject(parameters) ?? asObject(parametersJsonSchema) ?? {},
  }
}

const FORMATS: Record<string, string[]> = {
  STRING: ['enum', 'date-time'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
}

/** Google's own rules for its OpenAPI subset; unknown keywords were refused before. */
function checkSchema(schema: JsonObject, path: string): void {
  const type = typeNameOf(schema)
  if (type !== undefined && !SCHEMA_TYPES.includes(type))
    refuse(
      `Invalid value at '${path}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), ${JSON.stringify(schema['type'])}`,
    )
  const format = asString(schema['format'])
  if (format !== undefined && type !== undefined && !(FORMATS[type] ?? [format]).includes(format)) {
    refuse(
      `${path}.format: only ${(FORMATS[type] ?? []).map(name => `'${name}'`).join(' and ')} are supported for ${type} type`,
    )
  }
  if (schema['enum'] !== undefined) {
    if (type !== 'STRING') refuse(`${path}.enum: only allowed for STRING type`)
    if (asArray(schema['enum']).some(value => typeof value !== 'string' || value === ''))
      refuse(`${path}.enum: values must be non-empty strings`)
  }
  checkProperties(schema, path)
  if (type === 'ARRAY' && schema['items'] === undefined) refuse(`${path}.items: missing field.`)
  if (isJsonObject(schema['items'])) checkSchema(schema['items'], `${path}.items`)
  for (const [index, choice] of asArray(schema['anyOf']).entries())
    if (isJsonObject(choice)) checkSchema(choice, `${path}.any_of[${index}]`)
}

function checkProperties(schema: JsonObject, path: string): void {
  const properties = asObject(schema['properties']) ?? {}
  if (typeNameOf(schema) === 'OBJECT' && Object.keys(properties).length === 0)
    refuse(`${path}.properties: should be non-empty for OBJECT type`)
  for (const [index, name] of asArray(schema['required']).entries()) {
    if (typeof name !== 'string' || !Object.hasOwn(properties, name))
      refuse(`${path}.required[${index}]: property is not defined`)
  }
  for (const [name, property] of Object.entries(properties))
    if (isJsonObject(property)) checkSchema(property, `${path}.properties[${name}]`)
}

function typeNameOf(schema: JsonObject): string | undefined {
  const type = schema['type']
  if (Array.isArray(type)) return refuse('Proto field is not repeating, cannot start list.')
  return asString(type)?.toUpperCase()
}

function readToolConfig(config: JsonObject | undefined, tools: OfferedTool[]): ToolChoice {
  const mode = asString(config?.['mode'])?.toUpperCase() ?? 'AUTO'
  const names = config?.['allowedFunctionNames']
  const allowed = names === undefined ? undefined : asArray(names).map(name => asString(name) ?? '')
  if (allowed !== undefined && mode !== 'ANY' && mode !== 'VALIDATED') {
    refuse(
      'Function calling config: allowed_function_names should be set only when the mode is ANY or VALIDATED.',
    )
  }
  const unknown = allowed?.find(name => !tools.some(tool => tool.name === name))
  if (unknown !== undefined)
    refuse(`Function calling config: allowed_function_names contains '${unknown}', which is not declared.`)
  switch (mode) {
    case 'ANY':
      if (tools.length === 0) refuse('Function calling config is set without function_declarations.')
      return { mode: 'required', allowed }
    case 'NONE':
      return { mode: 'none', allowed: undefined }
    case 'AUTO':
    case 'VALIDATED':
    case 'MODE_UNSPECIFIED':
      return { mode: 'auto', allowed }
    default:
      return refuse(
        `Invalid value at 'tool_config.function_calling_config.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), "${mode}"`,
      )
  }
}

function readGenerationConfig(config: JsonObject, prompt: Prompt): void {
  prompt.maxTokens = bounded(config, 'maxOutputTokens', 1)
  prompt.choices = bounded(config, 'candidateCount', 1, 8) ?? 1
  bounded(config, 'temperature', 0, 2)
  bounded(config, 'topP', 0, 1)
  prompt.stopSequences = asArray(config['stopSequences']).map(text =>
    typeof text === 'string' && text !== '' ? text : refuse('stop_sequences must be non-empty strings.'),
  )
  if (prompt.stopSequences.length > 5) refuse('The number of stop_sequences must be at most 5.')
  const logprobs = bounded(config, 'logprobs', 0, 20)
  if (logprobs !== undefined && config['responseLogprobs'] !== true)
    refuse('logprobs can only be set if response_logprobs is true.')
  if (config['responseLogprobs'] === true) prompt.topLogprobs = logprobs ?? 0
  readThinking(asObject(config['thinkingConfig']), prompt)
  prompt.output = readOutput(config)
}

function bounded(
  config: JsonObject,
  name: string,
  lowest: number,
  highest = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const value = config[name]
  if (value === undefined) return undefined
  if (typeof value === 'number' && value >= lowest && value <= highest) return value
  return refuse(
    `Unable to submit request because it has a ${name} value of ${JSON.stringify(value)} but the supported range is from ${lowest} to ${highest}. Update the value and try again.`,
  )
}

/** Thoughts are shown when asked for, or when the request says nothing about thinking at all. */
function readThinking(config: JsonObject | undefined, prompt: Prompt): void {
  if (config === undefined) return
  const budget = asNumber(config['thinkingBudget'])
  if (budget !== undefined && config['thinkingLevel'] !== undefined)
    refuse('You can only set only one of thinking budget and thinking level.')
  if (budget === 0) prompt.reasoning = 'off'
  else if (config['includeThoughts'] !== true) prompt.reasoning = 'hidden'
}

function readOutput(config: JsonObject): Prompt['output'] {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config
  if (responseSchema !== undefined && responseJsonSchema !== undefined)
    refuse('response_schema and response_json_schema are mutually exclusive.')
  const schema = asObject(responseSchema ?? responseJsonSchema)
  if (schema !== undefined && type !== 'application/json' && type !== 'text/x.enum') {
    refuse('A response schema requires a response mime type of application/json or text/x.enum.')
  }
  if (isJsonObject(responseSchema))
    checkSchema(responseSchema, 'GenerateContentRequest.generation_config.response_schema')
  if (type === undefined || type === 'text/plain' || type === 'text/x.enum') return undefined
  if (type !== 'application/json') refuse(`Unsupported response_mime_type: ${JSON.stringify(type)}`)
  return schema ?? 'any-object'
}
