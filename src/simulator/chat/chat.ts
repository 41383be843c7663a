import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { Dialect, Exchange } from '@/simulator/exchange.ts'
import { fold } from '@/simulator/fold.ts'
import { openaiErrorBody } from '@/simulator/openai/error.ts'
import { inTurns } from '@/simulator/script/in-turns.ts'
import { openaiLogprob } from '@/simulator/script/log-probability.ts'
import { oneCallAtATime } from '@/simulator/script/one-call-at-a-time.ts'
import { type FinishReason, IMAGE_BASE64, type Step } from '@/simulator/script/script.ts'
import { formatEvent } from '@/sse/event.ts'
import { callDelta, offersStrictTools, usesLegacyFunctions, wholeCalls } from './calls.ts'
import { readChat } from './validate.ts'

/** OpenAI Chat Completions, with the additions that compatible vendors share: reasoning_content and images. */
export const chat: Dialect = {
  cachePolicy: 'implicit-and-marks',
  read: readChat,
  stream: streamChat,
  whole: wholeChat,
  countBody: tokens => ({ total_tokens: tokens }),
  errorBody: openaiErrorBody,
  streamType: () => 'text/event-stream; charset=utf-8',
}

const FINISH = {
  stop: 'stop',
  'stop-sequence': 'stop',
  calls: 'tool_calls',
  length: 'length',
  refusal: 'stop',
  filter: 'content_filter',
} satisfies Record<FinishReason, string>

function* streamChat(exchange: Exchange): Generator<string> {
  const wantsUsage = asObject(exchange.body['stream_options'])?.['include_usage'] === true
  const usageNull = wantsUsage && exchange.reportsUsage ? { usage: null } : {}
  const chunk = (choices: JsonValue[], usage: JsonObject = usageNull): string =>
    formatEvent(undefined, JSON.stringify({ ...head(exchange, 'chat.completion.chunk'), choices, ...usage }))
  const answers = Array.from({ length: exchange.prompt.choices }, () => stepsOf(exchange))
  for (const { index, step, isFirst } of inTurns(answers)) {
    if (step.type === 'error') {
      yield formatEvent(undefined, JSON.stringify(openaiErrorBody(step.failure)))
      return
    }
    const content = step.type === 'call-start' ? null : ''
    if (isFirst) yield chunk([choiceChunk(index, { role: 'assistant', content })])
    const choice = choiceOf(step, index, exchange)
    if (choice !== undefined) yield chunk([choice])
  }
  if (wantsUsage && exchange.reportsUsage) yield chunk([], { usage: usageOf(exchange) })
  yield formatEvent(undefined, '[DONE]')
}

/**
 * Calls interleave, which decoders must bear, but for strict tools: OpenAI's own stream helpers parse the input of such a
 * call as soon as another one goes on.
 */
function stepsOf(exchange: Exchange): Iterable<Step> {
  return offersStrictTools(exchange) ? oneCallAtATime(exchange.play()) : exchange.play()
}

function choiceOf(step: Step, index: number, exchange: Exchange): JsonObject | undefined {
  if (step.type === 'finish')
    return { index, delta: {}, logprobs: null, finish_reason: finishOf(step.reason, exchange) }
  const delta = deltaOf(step, index, exchange)
  if (delta === undefined) return undefined
  const top = exchange.prompt.topLogprobs
  const choice = choiceChunk(index, delta)
  return top === undefined || step.type !== 'text'
    ? choice
    : { ...choice, logprobs: { content: [openaiLogprob(step.text, top)], refusal: null } }
}

function finishOf(reason: FinishReason, exchange: Exchange): string {
  return reason === 'calls' && usesLegacyFunctions(exchange) ? 'function_call' : FINISH[reason]
}

function choiceChunk(index: number, delta: JsonObject): JsonObject {
  return { index, delta, logprobs: null, finish_reason: null }
}

function deltaOf(step: Step, choice: number, exchange: Exchange): JsonObject | undefined {
  switch (step.type) {
    case 'reasoning':
      return { reasoning_content: step.text }
    case 'text':
      return { content: step.text }
    case 'refusal':
      return { refusal: step.text }
    case 'call-start':
    case 'call-input':
      return callDelta(exchange, choice, step)
    case 'image':
      return { images: [image()] }
    default:
      return undefined
  }
}

function wholeChat(exchange: Exchange): JsonObject {
  const choices = Array.from({ length: exchange.prompt.choices }, (_, index) => wholeChoice(exchange, index))
  const answer = { ...head(exchange, 'chat.completion'), choices }
  return exchange.reportsUsage ? { ...answer, usage: usageOf(exchange) } : answer
}

function wholeChoice(exchange: Exchange, index: number): JsonObject {
  const answer = fold(exchange.play())
  const message: JsonObject = {
    role: 'assistant',
    content: answer.textTokens.length > 0 ? answer.textTokens.join('') : null,
    refusal: answer.refusal === '' ? null : answer.refusal,
    annotations: [],
  }
  if (answer.reasoning !== undefined) message['reasoning_content'] = answer.reasoning
  if (answer.hasImage) message['images'] = [image()]
  if (answer.calls.length > 0) Object.assign(message, wholeCalls(exchange, index, answer.calls))
  const top = exchange.prompt.topLogprobs
  const logprobs =
    top === undefined
      ? null
      : { content: answer.textTokens.map(token => openaiLogprob(token, top)), refusal: null }
  return { index, message, logprobs, finish_reason: finishOf(answer.finish, exchange) }
}

function head(exchange: Exchange, object: string): JsonObject {
  return {
    id: `chatcmpl-${exchange.seed}`,
    object,
    created: exchange.createdSeconds,
    model: exchange.prompt.model,
    service_tier: 'default',
    system_fingerprint: 'fp_simulator',
  }
}

function usageOf({ input, output }: Exchange): JsonObject {
  const written = input.cacheWrite5m + input.cacheWrite1h
  const prompt = input.uncached + input.cacheRead + written
  const completion = output.visible + output.reasoning
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: input.cacheRead,
      audio_tokens: 0,
      ...(written > 0 ? { cache_write_tokens: written } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: output.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

function image(): JsonObject {
  return { type: 'image_url', index: 0, image_url: { url: `data:image/png;base64,${IMAGE_BASE64}` } }
}
