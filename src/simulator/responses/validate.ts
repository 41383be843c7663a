import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { DialectRequest } from '@/simulator/exchange.ts'
import {
  optionalNumber,
  refuseOpenai,
  requireArray,
  requireObject,
  requireOpenaiName,
  requireString,
  strictSchemaFault,
} from '@/simulator/openai/validate.ts'
import { addText, emptyPrompt, type OfferedTool, type Prompt, type ToolChoice } from '@/simulator/prompt.ts'
import { readInput } from './validate-input.ts'
import { addTools } from './validate-tools.ts'

/** Fields of Chat Completions that a wrong conversion leaves behind; OpenAI refuses them by name. */
const CHAT_FIELDS = [
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'response_format',
  'stop',
  'n',
  'reasoning_effort',
  'functions',
]

/** Reads a Responses request as strictly as OpenAI does where that catches a wrong conversion. */
export function readResponses({ body, counts }: DialectRequest): Prompt {
  const prompt = emptyPrompt(requireString(body['model'], 'model'), body['stream'] === true && !counts)
  const foreign = CHAT_FIELDS.find(name => body[name] !== undefined)
  if (foreign !== undefined)
    refuseOpenai(
      `Unsupported parameter: '${foreign}'. It is a parameter of Chat Completions.`,
      foreign,
      'unsupported_parameter',
    )
  refuseState(body)
  prompt.maxTokens = optionalNumber(body, 'max_output_tokens', 16)
  optionalNumber(body, 'temperature', 0, 2)
  optionalNumber(body, 'top_p', 0, 1)
  readLogprobs(body, prompt)
  readReasoning(body, prompt)
  prompt.output = readFormat(asObject(body['text'])?.['format'])
  addTools(body['tools'], 'tools', prompt)
  const instructions = body['instructions']
  if (instructions !== undefined && instructions !== null)
    addText(prompt, requireString(instructions, 'instructions'))
  readInput(body['input'], prompt)
  prompt.toolChoice = readToolChoice(body['tool_choice'], prompt.tools)
  prompt.parallelCalls = body['parallel_tool_calls'] !== false
  return prompt
}

/** The simulator keeps no responses. */
function refuseState(body: JsonObject): void {
  const previous = asString(body['previous_response_id'])
  if (previous !== undefined) {
    refuseOpenai(
      `Previous response with id '${previous}' not found.`,
      'previous_response_id',
      'previous_response_not_found',
    )
  }
  if (body['background'] === true)
    refuseOpenai('Background mode is not supported.', 'background', 'unsupported_parameter')
}

function readLogprobs(body: JsonObject, prompt: Prompt): void {
  const top = optionalNumber(body, 'top_logprobs', 0, 20)
  const included = asArray(body['include']).includes('message.output_text.logprobs')
  if (included || (top ?? 0) > 0) prompt.topLogprobs = top ?? 0
}

function readReasoning(body: JsonObject, prompt: Prompt): void {
  const reasoning = asObject(body['reasoning'])
  if (reasoning === undefined) return
  if (reasoning['effort'] === 'none') prompt.reasoning = 'off'
  else if ((reasoning['summary'] ?? reasoning['generate_summary'] ?? null) === null)
    prompt.reasoning = 'hidden'
}

function readFormat(format: JsonValue | undefined): Prompt['output'] {
  if (format === undefined || format === null) return undefined
  const object = requireObject(format, 'text.format')
  if (object['type'] === 'text') return undefined
  if (object['type'] === 'json_object') return 'any-object'
  if (object['type'] !== 'json_schema') {
    refuseOpenai(
      "Invalid value: supported values for 'text.format.type' are: 'text', 'json_object', and 'json_schema'.",
      'text.format.type',
    )
  }
  const name = requireOpenaiName(object['name'], 'text.format.name')
  const schema = requireObject(object['schema'], 'text.format.schema')
  const fault = object['strict'] === true ? strictSchemaFault(schema) : undefined
  if (fault !== undefined)
    refuseOpenai(
      `Invalid schema for response_format '${name}': ${fault}`,
      'text.format.schema',
      'invalid_json_schema',
    )
  return schema
}

function readToolChoice(choice: JsonValue | undefined, tools: OfferedTool[]): ToolChoice {
  if (choice === undefined || choice === null || choice === 'auto')
    return { mode: 'auto', allowed: undefined }
  if (choice === 'none') return { mode: 'none', allowed: undefined }
  if (choice === 'required') return { mode: 'required', allowed: undefined }
  const object = requireObject(choice, 'tool_choice')
  if (object['type'] === 'allowed_tools') {
    const allowed = requireArray(object['tools'], 'tool_choice.tools').map(
      tool => asString(asObject(tool)?.['name']) ?? '',
    )
    return { mode: object['mode'] === 'required' ? 'required' : 'auto', allowed }
  }
  if (object['type'] !== 'function' && object['type'] !== 'custom')
    return { mode: 'auto', allowed: undefined }
  const name = requireString(object['name'], 'tool_choice.name')
  if (!tools.some(tool => tool.name === name))
    refuseOpenai(`Tool choice '${name}' not found in 'tools' parameter.`, 'tool_choice')
  return { mode: 'required', allowed: [name] }
}
