import { violations } from '#tests/formats/openai-responses/lifecycle.ts'
import type { Format } from '@/generation/format.ts'
import { asArray, asNumber, asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'

/**
 * Holds what a caller was sent to the grammar of its format: it ends either by the format's own mark or in an
 * in-band error. Gives what breaks it, nothing for a lawful stream.
 */
export function unlawful(format: Format, text: string): string[] {
  const law = new Law()
  const events = eventsOf(text, law)
  const named = format === 'openai-responses' || format === 'anthropic-messages'
  for (const event of events) {
    const type = parseObject(event.data)?.['type']
    law.must(event.event === (named ? type : undefined), `event name ${event.event} of ${event.data}`)
  }
  GRAMMARS[format](
    events.map(event => event.data),
    law,
  )
  return law.broken
}

class Law {
  readonly broken: string[] = []

  must(holds: boolean, rule: string): void {
    if (!holds) this.broken.push(rule)
  }
}

const GRAMMARS: Record<Format, (data: readonly string[], law: Law) => void> = {
  'openai-chat-completions': chat,
  'openai-responses': (data, law) => {
    for (const rule of violations(data.map(each => parseObject(each) ?? {}))) law.must(false, rule)
  },
  'anthropic-messages': messages,
  'gemini-generate-content': gemini,
}

/** Written events have one data line and at most one name, and every one of them is closed by an empty line. */
function eventsOf(text: string, law: Law): SseEvent[] {
  const blocks = text.split(/\r?\n\r?\n/)
  law.must(blocks.pop() === '', 'the last event is not closed')
  return blocks.map(block => {
    const match = /^(?:event: (\S+)\r?\n)?data: ([^\r\n]*)$/.exec(block)
    law.must(match !== null, `not an event: ${JSON.stringify(block)}`)
    const data = match?.[2] ?? ''
    law.must(data === '[DONE]' || parseObject(data) !== undefined, `not JSON: ${data}`)
    return { event: match?.[1], data }
  })
}

const CHAT_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

function chat(data: readonly string[], law: Law): void {
  const choices = new Map<number, { calls: number; finished: boolean }>()
  const heads = new Set<string>()
  let counted = false
  for (const [position, each] of data.entries()) {
    const isLast = position === data.length - 1
    if (each === '[DONE]') {
      law.must(isLast, '[DONE] is last')
      continue
    }
    const chunk = parseObject(each) ?? {}
    if (chunk['error'] !== undefined) {
      law.must(isLast && asString(asObject(chunk['error'])?.['message']) !== undefined, 'the error is last')
      return
    }
    heads.add(JSON.stringify([chunk['id'], chunk['object'], chunk['created'], chunk['model']]))
    law.must(!counted, 'the usage chunk ends the answer')
    const entries = asArray(chunk['choices'])
    counted = entries.length === 0
    law.must(!counted || asObject(chunk['usage']) !== undefined, 'a chunk without choices tells the usage')
    for (const entry of entries) chatChoice(asObject(entry) ?? {}, choices, law)
  }
  law.must(data.at(-1) === '[DONE]', 'the stream ends in [DONE] or an error')
  law.must(heads.size <= 1, 'id, object, created and model are constant')
  law.must(choices.size > 0, 'there is a choice')
  for (const [index, { finished }] of choices) law.must(finished, `choice ${index} has a finish_reason`)
}

function chatChoice(
  choice: JsonObject,
  choices: Map<number, { calls: number; finished: boolean }>,
  law: Law,
): void {
  const index = asNumber(choice['index']) ?? -1
  const delta = asObject(choice['delta'])
  law.must(index >= 0 && delta !== undefined, 'a choice has index and delta')
  const known = choices.get(index)
  const state = known ?? { calls: 0, finished: false }
  choices.set(index, state)
  law.must((delta?.['role'] === 'assistant') === (known === undefined), `choice ${index}: the role is first`)
  law.must(!state.finished, `choice ${index}: nothing after its finish`)
  for (const value of asArray(delta?.['tool_calls'])) {
    const call = asObject(value) ?? {}
    const at = asNumber(call['index']) ?? -1
    const isFirst = at === state.calls
    law.must(at >= 0 && at <= state.calls, `choice ${index}: call indexes run from 0`)
    law.must((asString(call['id']) !== undefined) === isFirst, `choice ${index}: an id with the first delta`)
    const named = asObject(call['function'] ?? call['custom'])
    law.must((asString(named?.['name']) !== undefined) === isFirst, `choice ${index}: a name with the first`)
    const input = named?.['arguments'] ?? named?.['input']
    law.must(typeof input === 'string', `choice ${index}: input is text`)
    if (isFirst) state.calls += 1
  }
  const reason = choice['finish_reason']
  if (reason === null || reason === undefined) return
  law.must(CHAT_REASONS.includes(String(reason)), `finish_reason ${reason}`)
  state.finished = true
}

const MESSAGES_DELTAS: Record<string, string> = {
  text_delta: 'text',
  citations_delta: 'text',
  input_json_delta: 'tool_use',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
  compaction_delta: 'compaction',
}

function fitsBlock(delta: JsonObject | undefined, open: { type: string } | undefined): boolean {
  const of = MESSAGES_DELTAS[asString(delta?.['type']) ?? '']
  return of === open?.type || (of === 'tool_use' && open?.type === 'server_tool_use')
}

function messages(data: readonly string[], law: Law): void {
  let open: { type: string } | undefined
  let blocks = 0
  let state: 'new' | 'content' | 'delta' | 'stopped' = 'new'
  for (const [position, each] of data.entries()) {
    const event = parseObject(each) ?? {}
    const type = asString(event['type']) ?? ''
    if (type === 'error') {
      law.must(position === data.length - 1, 'nothing after an error')
      law.must(asString(asObject(event['error'])?.['message']) !== undefined, 'an error has a message')
      return
    }
    law.must((position === 0) === (type === 'message_start'), `${position}: message_start is first, and once`)
    law.must(state !== 'stopped', `${position}: nothing after message_stop`)
    if (type === 'message_start') state = 'content'
    else if (type === 'content_block_start') {
      law.must(state === 'content' && open === undefined, `${position}: one block at a time`)
      law.must(event['index'] === blocks, `${position}: indexes run from 0`)
      open = { type: asString(asObject(event['content_block'])?.['type']) ?? '' }
      blocks += 1
    } else if (type === 'content_block_delta') {
      const fits = fitsBlock(asObject(event['delta']), open)
      law.must(fits && event['index'] === blocks - 1, `${position}: a delta of the open block`)
    } else if (type === 'content_block_stop') {
      law.must(open !== undefined && event['index'] === blocks - 1, `${position}: stops the open block`)
      open = undefined
    } else if (type === 'message_delta') {
      law.must(open === undefined && state !== 'new', `${position}: message_delta after the blocks`)
      law.must(asObject(event['usage']) !== undefined, `${position}: message_delta has usage`)
      state = 'delta'
    } else if (type === 'message_stop') {
      law.must(state === 'delta', `${position}: message_stop after message_delta`)
      state = 'stopped'
    } else law.must(type === 'ping', `${position}: unknown event ${type}`)
  }
  law.must(state === 'stopped', 'the stream ends in message_stop or an error')
}

function gemini(data: readonly string[], law: Law): void {
  const finished = new Map<number, boolean>()
  let blocked = false
  for (const [position, each] of data.entries()) {
    const chunk = parseObject(each) ?? {}
    if (chunk['error'] !== undefined) {
      law.must(position === data.length - 1, 'nothing after an error')
      law.must(asNumber(asObject(chunk['error'])?.['code']) !== undefined, 'an error has a code')
      return
    }
    blocked ||= asObject(chunk['promptFeedback'])?.['blockReason'] !== undefined
    for (const entry of asArray(chunk['candidates'])) {
      const candidate = asObject(entry) ?? {}
      const index = asNumber(candidate['index']) ?? 0
      law.must(finished.get(index) !== true, `candidate ${index}: nothing after its finish`)
      finished.set(index, asString(candidate['finishReason']) !== undefined)
      for (const part of asArray(asObject(candidate['content'])?.['parts'])) geminiPart(part, law)
    }
  }
  law.must(blocked || finished.size > 0, 'there is a candidate, or the prompt was blocked')
  for (const [index, is] of finished) law.must(is, `candidate ${index} has a finishReason`)
}

function geminiPart(value: unknown, law: Law): void {
  const part = asObject(value) ?? {}
  const text = part['text']
  const isEmpty = Object.keys(part).length === 0 || (text === '' && part['thoughtSignature'] === undefined)
  law.must(!isEmpty, 'no empty part')
  const call = part['functionCall']
  if (call === undefined) return
  law.must(asString(asObject(call)?.['name']) !== undefined, 'a call has a name')
  law.must(asObject(asObject(call)?.['args'] ?? {}) !== undefined, 'arguments are an object')
}
