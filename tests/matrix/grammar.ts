import { deepEqual, equal, ok } from 'node:assert/strict'
import { asArray, asObject, asString, isJsonObject, type JsonObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import type { Side } from './talk.ts'

/** Holds a successful stream to its format's own grammar; throws where it strays. */
export const GRAMMARS: Record<Side, (events: readonly SseEvent[]) => void> = {
  chat: checkChat,
  responses: checkResponses,
  messages: checkMessages,
  gemini: checkGemini,
}

function jsonOf(event: SseEvent): JsonObject {
  const json: unknown = JSON.parse(event.data)
  ok(isJsonObject(json), 'an event is not an object')
  return json
}

function same(values: readonly unknown[], what: string): void {
  equal(new Set(values).size, 1, `${what} changes within the stream`)
}

// Chat Completions

interface ChatChoice {
  finished: boolean
  said: boolean
  /** Argument text by the call's index. */
  calls: string[]
}

function checkChat(events: readonly SseEvent[]): void {
  ok(
    events.every(event => event.event === undefined),
    'an event has a name',
  )
  equal(events.at(-1)?.data, '[DONE]')
  const chunks = events.slice(0, -1).map(jsonOf)
  for (const field of ['id', 'object', 'created', 'model']) {
    same(
      chunks.map(chunk => chunk[field]),
      field,
    )
  }
  equal(chunks[0]?.['object'], 'chat.completion.chunk')
  const last = chunks.at(-1)
  deepEqual(last?.['choices'], [])
  ok(isJsonObject(last?.['usage']), 'the last chunk has no usage')
  const choices = new Map<number, ChatChoice>()
  for (const chunk of chunks.slice(0, -1)) {
    equal(chunk['usage'], null)
    for (const value of asArray(chunk['choices'])) checkChoice(asObject(value) ?? {}, choices)
  }
  ok(choices.size > 0)
  for (const choice of choices.values()) ok(choice.finished, 'a choice has no finish_reason')
}

function checkChoice(chunk: JsonObject, choices: Map<number, ChatChoice>): void {
  const index = Number(chunk['index'])
  const delta = asObject(chunk['delta'])
  ok(delta !== undefined, 'a choice has no delta')
  let choice = choices.get(index)
  if (choice === undefined) {
    equal(delta['role'], 'assistant')
    choice = { finished: false, said: false, calls: [] }
    choices.set(index, choice)
  } else equal(delta['role'], undefined)
  ok(!choice.finished, 'something follows the finish_reason')
  if ((asString(delta['content']) ?? '') !== '') choice.said = true
  if (delta['reasoning_content'] !== undefined) ok(!choice.said, 'thoughts follow the text')
  for (const call of asArray(delta['tool_calls'])) checkChatCall(asObject(call) ?? {}, choice)
  if (chunk['finish_reason'] === null) return
  choice.finished = true
  deepEqual(delta, {})
  for (const input of choice.calls) ok(isJsonObject(JSON.parse(input)), 'arguments are not an object')
}

function checkChatCall(call: JsonObject, choice: ChatChoice): void {
  const index = Number(call['index'])
  const target = asObject(call['function'])
  const text = asString(target?.['arguments'])
  ok(text !== undefined, 'a call has no arguments')
  if (choice.calls[index] === undefined) {
    equal(index, choice.calls.length)
    equal(call['type'], 'function')
    ok(asString(call['id']) && asString(target?.['name']), 'a call begins without id or name')
    choice.calls.push(text)
    return
  }
  deepEqual(Object.keys(call).sort(), ['function', 'index'])
  choice.calls[index] += text
}

// Responses

/** What readers of Open Responses require of every response object. */
const RESPONSE_KEYS = [
  ...['id', 'object', 'created_at', 'completed_at', 'status', 'incomplete_details', 'model', 'output'],
  ...['previous_response_id', 'instructions', 'error', 'tools', 'tool_choice', 'truncation', 'text', 'top_p'],
  ...['parallel_tool_calls', 'presence_penalty', 'frequency_penalty', 'top_logprobs', 'temperature', 'user'],
  ...['reasoning', 'usage', 'max_output_tokens', 'max_tool_calls', 'store', 'background', 'service_tier'],
  ...['metadata', 'safety_identifier', 'prompt_cache_key'],
]

export function checkResponseObject(response: JsonObject | undefined): void {
  const missing = RESPONSE_KEYS.filter(key => response?.[key] === undefined)
  deepEqual(missing, [], 'keys are missing from a response')
}

interface OpenItem {
  id: unknown
  type: unknown
  /** Texts by field and part: `output_text.0`, `arguments`. */
  texts: Map<string, string>
  openParts: Set<string>
}

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])

function checkResponses(events: readonly SseEvent[]): void {
  const items: OpenItem[] = []
  const done: JsonObject[] = []
  const bodies = events.map(event => {
    const json = jsonOf(event)
    equal(event.event, json['type'])
    return json
  })
  deepEqual(
    bodies.map(body => body['sequence_number']),
    bodies.map((_, index) => index),
  )
  deepEqual(
    bodies.slice(0, 2).map(body => body['type']),
    ['response.created', 'response.in_progress'],
  )
  for (const body of bodies.slice(0, 2)) checkOpening(asObject(body['response']))
  for (const body of bodies.slice(2, -1)) {
    ok(!TERMINAL.has(String(body['type'])), 'something follows the terminal event')
    checkItemEvent(body, items, done)
  }
  const last = bodies.at(-1) ?? {}
  ok(TERMINAL.has(String(last['type'])), 'the stream has no terminal event')
  const response = asObject(last['response'])
  checkResponseObject(response)
  equal(done.filter(Boolean).length, items.length, 'an item is not done')
  deepEqual(response?.['output'], done)
  same(
    [...bodies.slice(0, 2), last].map(body => asObject(body['response'])?.['id']),
    'the response id',
  )
}

function checkOpening(response: JsonObject | undefined): void {
  checkResponseObject(response)
  equal(response?.['status'], 'in_progress')
  deepEqual(response?.['output'], [])
  equal(response?.['usage'], null)
}

function checkItemEvent(body: JsonObject, items: OpenItem[], done: JsonObject[]): void {
  const index = Number(body['output_index'])
  const type = String(body['type'])
  const given = asObject(body['item'])
  if (type === 'response.output_item.added') {
    equal(index, items.length)
    ok(given !== undefined)
    if (given['type'] === 'message') deepEqual(given['content'], [])
    if (given['type'] === 'function_call') equal(given['arguments'], '')
    if (given['type'] !== 'reasoning') equal(given['status'], 'in_progress')
    items.push({ id: given['id'], type: given['type'], texts: new Map(), openParts: new Set() })
    return
  }
  const item = items[index]
  ok(item !== undefined && done[index] === undefined, `${type} belongs to no open item`)
  if (type === 'response.output_item.done') {
    equal(given?.['id'], item.id)
    equal(item.openParts.size, 0, 'a part is not done')
    checkDoneItem(given ?? {}, item)
    done[index] = given ?? {}
    return
  }
  equal(body['item_id'], item.id)
  checkPartEvent(type, body, item)
}

function checkPartEvent(type: string, body: JsonObject, item: OpenItem): void {
  const place = String(body['content_index'] ?? body['summary_index'] ?? '')
  const name = type.replace(/^response\./, '').replace(/\.(delta|done|added)$/, '')
  if (name === 'content_part' || name === 'reasoning_summary_part') {
    if (type.endsWith('.added')) {
      ok(!item.openParts.has(place))
      item.openParts.add(place)
    } else ok(item.openParts.delete(place), 'a part is done that was not open')
    return
  }
  const key = `${name}.${place}`
  if (type.endsWith('.delta')) {
    if (place !== '') ok(item.openParts.has(place), 'a delta belongs to no open part')
    item.texts.set(key, (item.texts.get(key) ?? '') + String(body['delta']))
  } else if (type.endsWith('.done')) {
    const whole = body['text'] ?? body['arguments'] ?? body['refusal'] ?? body['input']
    equal(whole, item.texts.get(key) ?? '')
  }
}

function checkDoneItem(given: JsonObject, item: OpenItem): void {
  if (given['type'] === 'message') {
    for (const [index, value] of asArray(given['content']).entries()) {
      const part = asObject(value) ?? {}
      const told = item.texts.get(`${part['type']}.${index}`) ?? ''
      equal(part['text'] ?? part['refusal'], told)
    }
  }
  if (given['type'] === 'function_call') {
    equal(given['arguments'], item.texts.get('function_call_arguments.') ?? '')
    ok(asString(given['call_id']) && asString(given['name']), 'a call has no id or name')
  }
  if (given['type'] === 'reasoning') {
    for (const [index, value] of asArray(given['summary']).entries())
      equal(asObject(value)?.['text'], item.texts.get(`reasoning_summary_text.${index}`))
  }
}

// Messages

const DELTAS: Record<string, readonly string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
}

function checkMessages(events: readonly SseEvent[]): void {
  const bodies = events
    .map(event => {
      const json = jsonOf(event)
      equal(event.event, json['type'])
      return json
    })
    .filter(body => body['type'] !== 'ping')
  const [start, ...rest] = bodies
  checkMessageStart(start)
  equal(rest.at(-1)?.['type'], 'message_stop')
  const deltas = rest.findIndex(body => body['type'] === 'message_delta')
  ok(deltas >= 0, 'the stream has no message_delta')
  checkBlocks(rest.slice(0, deltas))
  for (const body of rest.slice(deltas, -1)) {
    equal(body['type'], 'message_delta')
    ok(Number(asObject(body['usage'])?.['output_tokens']) >= 0)
  }
  ok(asString(asObject(rest.at(-2)?.['delta'])?.['stop_reason']), 'the last message_delta has no stop_reason')
}

function checkMessageStart(start: JsonObject | undefined): void {
  equal(start?.['type'], 'message_start')
  const message = asObject(start?.['message'])
  ok(message !== undefined && asString(message['id']) && asString(message['model']))
  equal(message['type'], 'message')
  equal(message['role'], 'assistant')
  deepEqual(message['content'], [])
  equal(message['stop_reason'], null)
  equal(message['stop_sequence'], null)
  ok(Number(asObject(message['usage'])?.['input_tokens']) >= 0, 'message_start has no input_tokens')
}

function checkBlocks(bodies: readonly JsonObject[]): void {
  let open: JsonObject | undefined
  let count = 0
  let input = ''
  let signatures = 0
  for (const body of bodies) {
    if (body['type'] === 'content_block_start') {
      ok(open === undefined, 'two blocks are open')
      equal(body['index'], count++)
      open = asObject(body['content_block'])
      input = ''
      signatures = 0
      continue
    }
    ok(open !== undefined, `${body['type']} belongs to no open block`)
    equal(body['index'], count - 1)
    const type = String(open['type'])
    if (body['type'] === 'content_block_stop') {
      if (type === 'tool_use') ok(isJsonObject(JSON.parse(input === '' ? '{}' : input)))
      if (type === 'thinking') equal(signatures, 1, 'a thinking block has not one signature')
      open = undefined
      continue
    }
    equal(body['type'], 'content_block_delta')
    const delta = asObject(body['delta']) ?? {}
    ok(DELTAS[type]?.includes(String(delta['type'])), `${delta['type']} in a block of type ${type}`)
    equal(signatures, 0, 'something follows the signature')
    if (delta['type'] === 'signature_delta') signatures++
    if (delta['type'] === 'input_json_delta') input += String(delta['partial_json'])
  }
  ok(open === undefined, 'a block is not closed')
}

// Gemini

const DATA = ['text', 'inlineData', 'functionCall', 'executableCode', 'codeExecutionResult', 'fileData']

function checkGemini(events: readonly SseEvent[]): void {
  ok(
    events.every(event => event.event === undefined),
    'an event has a name',
  )
  const chunks = events.map(jsonOf)
  for (const field of ['modelVersion', 'responseId'])
    same(
      chunks.map(chunk => chunk[field]),
      field,
    )
  const finished: number[] = []
  for (const chunk of chunks) {
    for (const value of asArray(chunk['candidates'])) {
      const candidate = asObject(value) ?? {}
      const index = Number(candidate['index'] ?? 0)
      ok(!finished.includes(index), 'something follows the finishReason')
      for (const part of asArray(asObject(candidate['content'])?.['parts']))
        checkGeminiPart(asObject(part) ?? {})
      if (candidate['finishReason'] !== undefined) finished.push(index)
    }
  }
  ok(finished.length > 0, 'the stream has no finishReason')
  ok(isJsonObject(chunks.at(-1)?.['usageMetadata']), 'the last chunk has no usage')
}

function checkGeminiPart(part: JsonObject): void {
  equal(
    DATA.filter(name => part[name] !== undefined).length,
    1,
    `a part has not one kind of data: ${JSON.stringify(part)}`,
  )
  const call = asObject(part['functionCall'])
  if (call === undefined) return
  ok(asString(call['name']), 'a call has no name')
  ok(call['args'] === undefined || isJsonObject(call['args']), 'args are not an object')
}
