import { asObject, asObjects, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { refuse } from '@/simulator/failure.ts'
import { isGemini3 } from '@/simulator/model-family.ts'
import { addMedium, addText, type Prompt } from '@/simulator/prompt.ts'
import { checkSignature } from '@/simulator/script/signature.ts'

interface Content {
  role: 'user' | 'model'
  parts: JsonObject[]
}

/** Checks and reads `contents`. */
export function readContents(values: JsonValue[], prompt: Prompt): void {
  if (values.length === 0) refuse('* GenerateContentRequest.contents: contents is not specified')
  const contents = values.map((value, index) => readContent(asObject(value) ?? {}, index))
  checkOrder(contents)
  checkCalls(contents)
  if (isGemini3(prompt.model)) checkCurrentTurn(contents)
  for (const content of contents) readMeaning(content, prompt)
}

function readContent(value: JsonObject, index: number): Content {
  const role = value['role'] ?? 'user'
  if (role !== 'user' && role !== 'model' && role !== 'function')
    return refuse('Please use a valid role: user, model.')
  const parts = asObjects(value['parts'])
  if (parts.length === 0)
    refuse(`* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`)
  for (const [position, part] of parts.entries()) checkPart(part, `contents[${index}].parts[${position}]`)
  return { role: role === 'model' ? 'model' : 'user', parts }
}

const DATA_FIELDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]

function checkPart(part: JsonObject, path: string): void {
  const data = DATA_FIELDS.filter(name => part[name] !== undefined)
  if (data.length > 1)
    refuse(`Invalid value at '${path}' (oneof), oneof field 'data' is already set. Cannot set '${data[1]}'`)
  const isEmpty = data.length === 0 || (part['text'] === '' && part['thoughtSignature'] === undefined)
  if (isEmpty)
    refuse(
      `* GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field`,
    )
  const signature = part['thoughtSignature']
  if (signature !== undefined && !isValidSignature(signature)) refuse('Corrupted thought signature.')
  const response = asObject(part['functionResponse'])
  if (response !== undefined && (asString(response['name']) ?? '') === '')
    refuse(`* GenerateContentRequest.${path}.function_response.name: Name cannot be empty.`)
  if (response !== undefined && !isJsonObject(response['response']))
    refuse(
      `Invalid value at '${path}.function_response.response' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(response['response'])}`,
    )
  const name = strayReference(response)
  if (name !== undefined)
    refuse(
      `The referenced name \`${name}\` in function_response.response does not match to a display_name in the function_response.parts.`,
    )
  const call = asObject(part['functionCall'])
  if (call !== undefined && (asString(call['name']) ?? '') === '')
    refuse(`* GenerateContentRequest.${path}.function_call.name: Name cannot be empty.`)
  if (call?.['args'] !== undefined && !isJsonObject(call['args']))
    refuse(
      `Invalid value at '${path}.function_call.args' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(call['args'])}`,
    )
}

/** What a response refers to without media of that name. */
function strayReference(response: JsonObject | undefined): string | undefined {
  const names = asObjects(response?.['parts']).map(part => asObject(part['inlineData'])?.['displayName'])
  const referred = JSON.stringify(response?.['response'] ?? {}).matchAll(/"\$ref":"([^"\\]*)"/g)
  return [...referred].map(([, name]) => name).find(name => !names.includes(name))
}

/** Google's documented way to replay calls of another model. */
const SKIP = 'skip_thought_signature_validator'

function isValidSignature(signature: JsonValue): boolean {
  if (typeof signature !== 'string') return false
  if (signature === SKIP || Buffer.from(signature, 'base64').toString() === SKIP) return true
  return checkSignature('gemini-generate-content', signature, undefined) === 'valid'
}

function checkOrder(contents: Content[]): void {
  const last = contents.at(-1)
  if (last !== undefined && callsOf(last).length > 0)
    refuse('Please ensure that function call turn comes immediately before a function response turn.')
}

function checkCalls(contents: Content[]): void {
  for (const [index, content] of contents.entries()) {
    const before = contents[index - 1]
    const calls = before === undefined ? [] : callsOf(before)
    const responses = responsesOf(content)
    if (content.role === 'model' && callsOf(content).length > 0 && before === undefined) {
      refuse(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    }
    if (responses.length !== calls.length) {
      refuse(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
    }
    const names = new Set(calls.map(call => call['name']))
    if (responses.some(response => !names.has(response['name'])))
      refuse(
        'Please ensure that function response names match the function call names of the function call turn.',
      )
    checkIds(calls, responses)
  }
}

function checkIds(calls: JsonObject[], responses: JsonObject[]): void {
  const ids = new Set(calls.map(call => call['id']))
  const stray = responses.find(({ id }) => id !== undefined && !ids.has(undefined) && !ids.has(id))
  if (stray !== undefined)
    refuse(
      `Function response id ${JSON.stringify(stray['id'])} does not match any function call of the function call turn.`,
    )
}

/** Since the last user text, the first call of every step must carry its signature. */
function checkCurrentTurn(contents: Content[]): void {
  const start = contents.findLastIndex(
    content => content.role === 'user' && responsesOf(content).length === 0,
  )
  for (const [index, { parts }] of contents.entries()) {
    if (index < start) continue
    const position = parts.findIndex(part => part['functionCall'] !== undefined)
    const first = parts[position]
    if (first === undefined || first['thoughtSignature'] !== undefined) continue
    const name = asString(asObject(first['functionCall'])?.['name'])
    refuse(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${position + 1}.`,
    )
  }
}

function callsOf({ parts }: Content): JsonObject[] {
  return parts.map(part => part['functionCall']).filter(isJsonObject)
}

function responsesOf({ parts }: Content): JsonObject[] {
  return parts.map(part => part['functionResponse']).filter(isJsonObject)
}

function readMeaning(content: Content, prompt: Prompt): void {
  for (const part of content.parts) {
    if (part['inlineData'] !== undefined || part['fileData'] !== undefined) addMedium(prompt)
    else addText(prompt, asString(part['text']) ?? JSON.stringify({ ...part, thoughtSignature: undefined }))
  }
  if (content.role === 'model') {
    prompt.toolResults = []
    return
  }
  prompt.toolResults = responsesOf(content).map(response => resultText(response['response']))
  const texts = content.parts.flatMap(part => asString(part['text']) ?? [])
  if (texts.length > 0) prompt.lastUserText = texts.join('\n')
}

/** The text in the usual wrappers, else the JSON. */
function resultText(response: JsonValue | undefined): string {
  if (!isJsonObject(response)) return ''
  const values = Object.entries(response)
  const [only] = values
  if (
    only !== undefined &&
    values.length === 1 &&
    ['result', 'output', 'content', 'error'].includes(only[0]) &&
    typeof only[1] === 'string'
  )
    return only[1]
  return JSON.stringify(response)
}
