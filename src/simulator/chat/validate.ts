import { asArray, asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { DialectRequest } from '@/simulator/exchange.ts'
import { Failure } from '@/simulator/failure.ts'
import { refusesMaxTokens } from '@/simulator/model-family.ts'
import {
  optionalNumber,
  readFunction,
  refuseOpenai,
  requireFilled,
  requireObject,
  requireObjects,
  requireOpenaiName,
  requireString,
  strictSchemaFault,
} from '@/simulator/openai/validate.ts'
import { addText, emptyPrompt, type OfferedTool, type Prompt, type ToolChoice } from '@/simulator/prompt.ts'
import { readMessages } from './validate-messages.ts'

/** Reads a Chat Completions request as strictly as OpenAI does where that catches a wrong conversion. */
export function readChat({ body }: DialectRequest): Prompt {
  const prompt = emptyPrompt(requireString(body['model'], 'model'), body['stream'] === true)
  prompt.tools = readTools(body)
  prompt.toolChoice = readToolChoice(body, prompt.tools)
  prompt.parallelCalls = body['parallel_tool_calls'] !== false && body['functions'] === undefined
  if (typeof body['parallel_tool_calls'] === 'boolean' && prompt.tools.length === 0) {
    refuseOpenai("'parallel_tool_calls' is only allowed when 'tools' are specified.", 'parallel_tool_calls')
  }
  if (isJsonObject(body['stream_options']) && !prompt.stream) {
    refuseOpenai("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  }
  for (const tool of prompt.tools) addText(prompt, JSON.stringify(tool))
  readSampling(body, prompt)
  readMessages(body, prompt)
  prompt.output = readResponseFormat(body['response_format'])
  if (body['reasoning_effort'] === 'none') prompt.reasoning = 'off'
  return prompt
}

function readSampling(body: JsonObject, prompt: Prompt): void {
  const limit = optionalNumber(body, 'max_completion_tokens', 1)
  const oldLimit = optionalNumber(body, 'max_tokens', 1)
  if (limit !== undefined && oldLimit !== undefined) {
    refuseOpenai(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
      'max_tokens',
    )
  }
  if (oldLimit !== undefined && refusesMaxTokens(prompt.model)) {
    refuseOpenai(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter',
    )
  }
  prompt.maxTokens = limit ?? oldLimit
  optionalNumber(body, 'temperature', 0, 2)
  optionalNumber(body, 'top_p', 0, 1)
  optionalNumber(body, 'presence_penalty', -2, 2)
  optionalNumber(body, 'frequency_penalty', -2, 2)
  prompt.choices = optionalNumber(body, 'n', 1, 128) ?? 1
  const topLogprobs = optionalNumber(body, 'top_logprobs', 0, 20)
  if (topLogprobs !== undefined && body['logprobs'] !== true) {
    refuseOpenai("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", 'top_logprobs')
  }
  if (body['logprobs'] === true) prompt.topLogprobs = topLogprobs ?? 0
  const stop = body['stop'] ?? []
  prompt.stopSequences = (Array.isArray(stop) ? stop : [stop]).map((text, index) =>
    requireString(text, `stop[${index}]`),
  )
  if (prompt.stopSequences.length > 4) {
    refuseOpenai(
      "Invalid 'stop': array too long. Expected an array with maximum length 4.",
      'stop',
      'array_above_max_length',
    )
  }
}

function readTools(body: JsonObject): OfferedTool[] {
  const tools = body['tools'] === undefined ? [] : requireFilled(body['tools'], 'tools')
  const legacy = asArray(body['functions']).map(tool => ({ type: 'function', function: tool }))
  return requireObjects([...tools, ...legacy], 'tools').map(([tool, param]) => readTool(tool, param))
}

function readTool(tool: JsonObject, param: string): OfferedTool {
  const type = tool['type']
  if (type === 'custom') {
    const custom = requireObject(tool['custom'], `${param}.custom`)
    return {
      name: requireOpenaiName(custom['name'], `${param}.custom.name`),
      kind: 'custom',
      schema: {},
    }
  }
  if (type !== 'function') {
    throw new Failure(
      422,
      `${param}.type: Input should be 'function' or 'custom', got ${JSON.stringify(type)}`,
      { param },
    )
  }
  const definition = requireObject(tool['function'], `${param}.function`)
  return { ...readFunction(definition, `${param}.function`), kind: 'function' }
}

function readToolChoice(body: JsonObject, tools: OfferedTool[]): ToolChoice {
  const choice = body['tool_choice'] ?? body['function_call']
  if (choice === undefined || choice === null) return { mode: 'auto', allowed: undefined }
  if (tools.length === 0)
    refuseOpenai(
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      'tool_choice',
    )
  if (choice === 'auto' || choice === 'none' || choice === 'required')
    return { mode: choice, allowed: undefined }
  const object = requireObject(choice, 'tool_choice')
  if (object['type'] === 'allowed_tools') {
    const allowed = requireObject(object['allowed_tools'], 'tool_choice.allowed_tools')
    return {
      mode: allowed['mode'] === 'required' ? 'required' : 'auto',
      allowed: asArray(allowed['tools']).map(tool =>
        namedIn(requireObject(tool, 'tool_choice.allowed_tools.tools')),
      ),
    }
  }
  const name = namedIn(object)
  if (!tools.some(tool => tool.name === name)) {
    refuseOpenai(`Tool choice '${name}' not found in 'tools' parameter.`, 'tool_choice')
  }
  return { mode: 'required', allowed: [name] }
}

function namedIn(tool: JsonObject): string {
  const inner = asObject(tool['function']) ?? asObject(tool['custom']) ?? tool
  return requireString(inner['name'], 'tool_choice.function.name')
}

function readResponseFormat(format: JsonValue | undefined): Prompt['output'] {
  if (format === undefined || format === null) return undefined
  const object = requireObject(format, 'response_format')
  if (object['type'] === 'text') return undefined
  if (object['type'] === 'json_object') return 'any-object'
  if (object['type'] !== 'json_schema') {
    refuseOpenai(
      "Invalid value: supported values for 'response_format.type' are: 'json_object', 'json_schema', and 'text'.",
      'response_format.type',
    )
  }
  const definition = requireObject(object['json_schema'], 'response_format.json_schema')
  const name = requireOpenaiName(definition['name'], 'response_format.json_schema.name')
  const schema = requireObject(definition['schema'] ?? {}, 'response_format.json_schema.schema')
  const fault = definition['strict'] === true ? strictSchemaFault(schema) : undefined
  if (fault !== undefined)
    refuseOpenai(`Invalid schema for response_format '${name}': ${fault}`, 'response_format')
  return schema
}
