import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { Dialect, Exchange } from '@/simulator/exchange.ts'
import type { Failure } from '@/simulator/failure.ts'
import { openaiErrorBody } from '@/simulator/openai/error.ts'
import type { FinishReason } from '@/simulator/script/script.ts'
import { formatEvent } from '@/sse/event.ts'
import { type ItemEvent, OutputItems } from './items.ts'
import { readResponses } from './validate.ts'

/** OpenAI Responses. */
export const responses: Dialect = {
  cachePolicy: 'implicit-and-marks',
  read: readResponses,
  stream: streamResponses,
  whole: wholeResponses,
  countBody: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
  errorBody: openaiErrorBody,
  streamType: () => 'text/event-stream; charset=utf-8',
}

function* streamResponses(exchange: Exchange): Generator<string> {
  let sequence = 0
  const frame = ({ type, ...fields }: ItemEvent): string =>
    formatEvent(type, JSON.stringify({ type, sequence_number: sequence++, ...fields }))
  const items = new OutputItems(exchange)
  yield frame({ type: 'response.created', response: responseObject(exchange, 'in_progress', []) })
  yield frame({ type: 'response.in_progress', response: responseObject(exchange, 'in_progress', []) })
  for (const step of exchange.play()) {
    if (step.type === 'error') {
      const code = 'server_error'
      yield frame({ type: 'error', error: { type: code, code, message: step.failure.message, param: null } })
      yield frame({ type: 'response.failed', response: failedObject(exchange, step.failure, items.done) })
      return
    }
    for (const event of items.push(step)) yield frame(event)
    if (step.type === 'finish') {
      const type = isIncomplete(step.reason) ? 'response.incomplete' : 'response.completed'
      yield frame({ type, response: finishedObject(exchange, step.reason, items.done) })
    }
  }
}

function wholeResponses(exchange: Exchange): JsonObject {
  const items = new OutputItems(exchange)
  let reason: FinishReason = 'stop'
  for (const step of exchange.play()) {
    if (step.type === 'error') throw step.failure
    items.push(step)
    if (step.type === 'finish') reason = step.reason
  }
  return finishedObject(exchange, reason, items.done)
}

function isIncomplete(reason: FinishReason): boolean {
  return reason === 'length' || reason === 'filter'
}

function finishedObject(exchange: Exchange, reason: FinishReason, output: JsonValue[]): JsonObject {
  const usage = exchange.reportsUsage ? usageOf(exchange) : null
  if (isIncomplete(reason)) {
    const details = { reason: reason === 'length' ? 'max_output_tokens' : 'content_filter' }
    return { ...responseObject(exchange, 'incomplete', output), incomplete_details: details, usage }
  }
  return { ...responseObject(exchange, 'completed', output), completed_at: exchange.createdSeconds, usage }
}

function failedObject(exchange: Exchange, failure: Failure, output: JsonValue[]): JsonObject {
  return {
    ...responseObject(exchange, 'failed', output),
    error: { code: 'server_error', message: failure.message },
  }
}

/** Every key of the response object; what the client sent is echoed, the rest has its documented default. */
function responseObject(
  { seed, createdSeconds, prompt, body }: Exchange,
  status: string,
  output: JsonValue[],
): JsonObject {
  return {
    id: `resp_${seed}`,
    object: 'response',
    access_programs: null,
    created_at: createdSeconds,
    status,
    background: false,
    completed_at: null,
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    model: prompt.model,
    output,
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: null, summary: null, ...asObject(body['reasoning']) },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: { format: { type: 'text' }, verbosity: 'medium', ...asObject(body['text']) },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
    usage: null,
    user: body['user'] ?? null,
    metadata: body['metadata'] ?? {},
  }
}

function usageOf({ input, output }: Exchange): JsonObject {
  const written = input.cacheWrite5m + input.cacheWrite1h
  const inputTokens = input.uncached + input.cacheRead + written
  const outputTokens = output.visible + output.reasoning
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: input.cacheRead, cache_write_tokens: written },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: output.reasoning },
    total_tokens: inputTokens + outputTokens,
  }
}
