import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { Dialect, Exchange } from '@/simulator/exchange.ts'
import type { Failure } from '@/simulator/failure.ts'
import { fold } from '@/simulator/fold.ts'
import { oneCallAtATime } from '@/simulator/script/one-call-at-a-time.ts'
import type { FinishReason, Step } from '@/simulator/script/script.ts'
import { signReasoning } from '@/simulator/script/signature.ts'
import { readMessages } from './validate.ts'

/** Anthropic Messages. */
export const messages: Dialect = {
  cachePolicy: 'marks',
  read: readMessages,
  stream: streamMessages,
  whole: wholeMessages,
  countBody: tokens => ({ input_tokens: tokens }),
  errorBody: messagesErrorBody,
  streamType: () => 'text/event-stream; charset=utf-8',
}

const STOP_REASON = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  calls: 'tool_use',
  length: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
} satisfies Record<FinishReason, string>

/** Nothing but the model calls tools here. */
const DIRECT = { type: 'direct' }

type Event = { type: string } & JsonObject

function* streamMessages(exchange: Exchange): Generator<string> {
  const first = frame({ type: 'message_start', message: { ...head(exchange), ...startUsage(exchange) } })
  const blocks = createBlocks(exchange)
  let pinged = false
  let started = false
  for (const step of oneCallAtATime(exchange.play())) {
    if (step.type === 'error') {
      yield frame(messagesErrorBody(step.failure, exchange.seed))
      return
    }
    if (!started) yield first
    started = true
    for (const event of blocks.push(step)) {
      yield frame(event)
      if (!pinged) yield frame({ type: 'ping' })
      pinged = true
    }
    if (step.type === 'finish') yield* ending(exchange, step.reason, step.stopSequence)
  }
}

function* ending(
  exchange: Exchange,
  reason: FinishReason,
  stopSequence: string | undefined,
): Generator<string> {
  yield frame({
    type: 'message_delta',
    delta: {
      stop_reason: STOP_REASON[reason],
      stop_sequence: stopSequence ?? null,
      stop_details: stopDetails(reason),
      container: null,
    },
    ...(exchange.reportsUsage ? { usage: usageOf(exchange) } : {}),
  })
  yield frame({ type: 'message_stop' })
}

/** The vendor pads its deltas with blanks behind the last field; lawful JSON that a reader must not trip over. */
function frame(event: JsonObject): string {
  const json = JSON.stringify(event)
  if (event['type'] !== 'content_block_delta') return `event: ${event['type']}\ndata: ${json}\n\n`
  return `event: content_block_delta\ndata: ${json.slice(0, -1)}${' '.repeat(json.length % 16)}}\n\n`
}

/** One block open at a time; a step of another kind closes the one before. */
function createBlocks(exchange: Exchange): { push(step: Step): Event[] } {
  let index = -1
  let open: 'thinking' | 'text' | 'tool_use' | undefined
  let thinking = ''
  const hidden = exchange.prompt.reasoning === 'hidden'

  const close = (): Event[] => {
    if (open === undefined) return []
    open = undefined
    return [{ type: 'content_block_stop', index }]
  }
  const start = (kind: NonNullable<typeof open>, content_block: JsonObject): Event[] => {
    if (open === kind) return []
    const before = close()
    open = kind
    index++
    return [...before, { type: 'content_block_start', index, content_block }]
  }
  const delta = (content: JsonObject): Event => ({ type: 'content_block_delta', index, delta: content })

  const push = (step: Step): Event[] => {
    switch (step.type) {
      case 'reasoning': {
        thinking += step.text
        const started = start('thinking', { type: 'thinking', thinking: '', signature: '' })
        return hidden ? started : [...started, delta({ type: 'thinking_delta', thinking: step.text })]
      }
      case 'reasoning-end':
        return [
          delta({ type: 'signature_delta', signature: signReasoning('anthropic-messages', thinking) }),
          ...close(),
        ]
      case 'text':
      case 'refusal':
        return [
          ...start('text', { type: 'text', text: '', citations: [] }),
          delta({ type: 'text_delta', text: step.text }),
        ]
      case 'call-start': {
        const block = {
          type: 'tool_use',
          id: toolId(exchange, step.call),
          name: step.tool.name,
          input: {},
          caller: DIRECT,
        }
        return [...start('tool_use', block), delta({ type: 'input_json_delta', partial_json: '' })]
      }
      case 'call-input':
        return [delta({ type: 'input_json_delta', partial_json: step.text })]
      case 'call-end':
      case 'finish':
        return close()
      case 'image':
        return [
          ...start('text', { type: 'text', text: '', citations: [] }),
          delta({ type: 'text_delta', text: IMAGE_TEXT }),
        ]
      default:
        return []
    }
  }
  return { push }
}

/** The format has no generated images. */
const IMAGE_TEXT = ' [image]'

function wholeMessages(exchange: Exchange): JsonObject {
  const answer = fold(exchange.play())
  const content: JsonValue[] = []
  if (answer.reasoning !== undefined) {
    const thinking = exchange.prompt.reasoning === 'hidden' ? '' : answer.reasoning
    content.push({
      type: 'thinking',
      thinking,
      signature: signReasoning('anthropic-messages', answer.reasoning),
    })
  }
  const text = answer.textTokens.join('') + answer.refusal + (answer.hasImage ? IMAGE_TEXT : '')
  if (text !== '') content.push({ type: 'text', text, citations: [] })
  for (const [call, { tool, input }] of answer.calls.entries()) {
    content.push({
      type: 'tool_use',
      id: toolId(exchange, call),
      name: tool.name,
      input: inputObject(input),
      caller: DIRECT,
    })
  }
  return {
    ...head(exchange),
    content,
    stop_reason: STOP_REASON[answer.finish],
    stop_sequence: answer.stopSequence ?? null,
    stop_details: stopDetails(answer.finish),
    ...(exchange.reportsUsage ? { usage: { ...usageOf(exchange), ...SERVICE } } : {}),
  }
}

/** Input that the token limit cut is handed out as far as it can be read: not at all. */
function inputObject(input: string): JsonObject {
  try {
    const value: unknown = JSON.parse(input)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

function head({ seed, prompt }: Exchange): JsonObject {
  return {
    id: `msg_${seed}`,
    type: 'message',
    role: 'assistant',
    model: prompt.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
  }
}

function stopDetails(reason: FinishReason): JsonObject | null {
  return STOP_REASON[reason] === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null
}

function startUsage(exchange: Exchange): JsonObject {
  return exchange.reportsUsage
    ? { usage: { ...inputUsage(exchange), output_tokens: 1, output_tokens_details: null, ...SERVICE } }
    : {}
}

/** How a message was served, which the end of a stream does not say again. */
const SERVICE = { server_tool_use: null, inference_geo: null, service_tier: 'standard', speed: null }

function usageOf(exchange: Exchange): JsonObject {
  const { visible, reasoning } = exchange.output
  return {
    ...inputUsage(exchange),
    output_tokens: visible + reasoning,
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: null,
  }
}

function inputUsage({ input }: Exchange): JsonObject {
  return {
    input_tokens: input.uncached,
    cache_creation_input_tokens: input.cacheWrite5m + input.cacheWrite1h,
    cache_read_input_tokens: input.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: input.cacheWrite5m,
      ephemeral_1h_input_tokens: input.cacheWrite1h,
    },
  }
}

function toolId(exchange: Exchange, call: number): string {
  return `toolu_${exchange.seed}${call}`
}

function messagesErrorBody(failure: Failure, seed: string): Event {
  const details = failure.details === undefined ? {} : { details: failure.details }
  return {
    type: 'error',
    error: { type: errorType(failure.status), message: failure.message, ...details },
    request_id: `req_${seed}`,
  }
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function errorType(status: number): string {
  return ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}
