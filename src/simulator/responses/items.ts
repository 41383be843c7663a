import type { JsonObject, JsonValue } from '@/json/json.ts'
import type { Exchange } from '@/simulator/exchange.ts'
import type { OfferedTool } from '@/simulator/prompt.ts'
import { openaiLogprob } from '@/simulator/script/log-probability.ts'
import { IMAGE_BASE64, type Step } from '@/simulator/script/script.ts'
import { signReasoning } from '@/simulator/script/signature.ts'

/** A stream event before it has its sequence number. */
export type ItemEvent = { type: string } & JsonObject

/** Opens, fills and closes the output items of one response; several tool calls may be open at once. */
export interface OutputItems {
  push(step: Step): ItemEvent[]
  /** The closed items, in order. */
  done(): JsonValue[]
}

/** An item that is open: how to go on with it, and how to close it. */
interface OpenItem {
  at: { item_id: string; output_index: number }
  push(step: Step): ItemEvent[]
  /** The events before `output_item.done`, and the whole item. */
  close(status: 'completed' | 'incomplete'): { events: ItemEvent[]; item: JsonObject }
}

/** Writes an answer's steps as output items and their events. */
export function createOutputItems(exchange: Exchange): OutputItems {
  const finished: JsonValue[] = []
  let opened = 0
  let content: OpenItem | undefined
  const calls = new Map<number, OpenItem>()

  const position = (prefix: string): OpenItem['at'] => {
    const output_index = opened++
    return { item_id: `${prefix}_${exchange.seed}${output_index}`, output_index }
  }
  const close = (
    item: OpenItem | undefined,
    status: 'completed' | 'incomplete' = 'completed',
  ): ItemEvent[] => {
    if (item === undefined) return []
    const { events, item: whole } = item.close(status)
    finished[item.at.output_index] = whole
    return [...events, { type: 'response.output_item.done', output_index: item.at.output_index, item: whole }]
  }
  const closeContent = (status: 'completed' | 'incomplete' = 'completed'): ItemEvent[] => {
    const events = close(content, status)
    content = undefined
    return events
  }
  /** Opens the item that a text, refusal or reasoning step belongs to, when it is not open yet. */
  const openContent = (open: () => { item: OpenItem; events: ItemEvent[] }): ItemEvent[] => {
    if (content !== undefined) return []
    const { item, events } = open()
    content = item
    return events
  }

  const push = (step: Step): ItemEvent[] => {
    switch (step.type) {
      case 'reasoning':
        return [...openContent(() => openReasoning(position('rs'), exchange)), ...(content?.push(step) ?? [])]
      case 'reasoning-end':
        return closeContent()
      case 'text':
      case 'refusal':
        return [...openContent(() => openMessage(position('msg'), exchange)), ...(content?.push(step) ?? [])]
      case 'call-start': {
        const before = closeContent()
        const { item, events } = openCall(
          position(step.tool.kind === 'custom' ? 'ctc' : 'fc'),
          step.tool,
          `call_${exchange.seed}${step.call}`,
        )
        calls.set(step.call, item)
        return [...before, ...events]
      }
      case 'call-input':
        return calls.get(step.call)?.push(step) ?? []
      case 'call-end': {
        const events = close(calls.get(step.call))
        calls.delete(step.call)
        return events
      }
      case 'image':
        return [...closeContent(), ...imageEvents(position('ig'), finished)]
      case 'finish': {
        const status = step.reason === 'length' || step.reason === 'filter' ? 'incomplete' : 'completed'
        const events = [...closeContent(status), ...[...calls.values()].flatMap(item => close(item, status))]
        calls.clear()
        return opened > 0
          ? events
          : [...openContent(() => openMessage(position('msg'), exchange)), ...closeContent(status)]
      }
      default:
        return []
    }
  }
  return { push, done: () => finished }
}

function added(at: OpenItem['at'], item: JsonObject): ItemEvent {
  return { type: 'response.output_item.added', output_index: at.output_index, item }
}

/** A message with one part: text, or a refusal when the first step is one. */
function openMessage(at: OpenItem['at'], { prompt }: Exchange): { item: OpenItem; events: ItemEvent[] } {
  const place = { ...at, content_index: 0 }
  const logprobs: JsonObject[] = []
  let kind: 'output_text' | 'refusal' | undefined
  let text = ''
  const part = (): JsonObject =>
    kind === 'refusal'
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', text, annotations: [], logprobs }
  const begin = (wanted: 'output_text' | 'refusal'): ItemEvent[] => {
    if (kind !== undefined) return []
    kind = wanted
    return [
      {
        type: 'response.content_part.added',
        ...place,
        part: wanted === 'refusal' ? part() : { ...part(), logprobs: [] },
      },
    ]
  }
  const item: OpenItem = {
    at,
    push(step) {
      if (step.type !== 'text' && step.type !== 'refusal') return []
      const events = begin(step.type === 'text' ? 'output_text' : 'refusal')
      text += step.text
      if (step.type === 'refusal')
        return [...events, { type: 'response.refusal.delta', ...place, delta: step.text }]
      const probabilities =
        prompt.topLogprobs === undefined ? [] : [openaiLogprob(step.text, prompt.topLogprobs)]
      logprobs.push(...probabilities)
      return [
        ...events,
        { type: 'response.output_text.delta', ...place, delta: step.text, logprobs: probabilities },
      ]
    },
    close(status) {
      const events = begin('output_text')
      const done: ItemEvent =
        kind === 'refusal'
          ? { type: 'response.refusal.done', ...place, refusal: text }
          : { type: 'response.output_text.done', ...place, text, logprobs }
      return {
        events: [...events, done, { type: 'response.content_part.done', ...place, part: part() }],
        item: { id: at.item_id, type: 'message', status, role: 'assistant', content: [part()] },
      }
    },
  }
  return {
    item,
    events: [
      added(at, { id: at.item_id, type: 'message', status: 'in_progress', role: 'assistant', content: [] }),
    ],
  }
}

/** A reasoning item with one summary part, or none when the summary was not wanted. */
function openReasoning(at: OpenItem['at'], exchange: Exchange): { item: OpenItem; events: ItemEvent[] } {
  const place = { ...at, summary_index: 0 }
  const shown = exchange.prompt.reasoning === 'shown'
  let text = ''
  const part = (): JsonObject => ({ type: 'summary_text', text })
  const sealed = (): JsonObject =>
    wantsSeal(exchange) ? { encrypted_content: signReasoning('openai-responses', text) } : {}
  const item: OpenItem = {
    at,
    push(step) {
      if (step.type !== 'reasoning' || !shown) return []
      const events: ItemEvent[] =
        text === '' ? [{ type: 'response.reasoning_summary_part.added', ...place, part: part() }] : []
      text += step.text
      return [...events, { type: 'response.reasoning_summary_text.delta', ...place, delta: step.text }]
    },
    close() {
      const events: ItemEvent[] = [
        { type: 'response.reasoning_summary_text.done', ...place, text },
        { type: 'response.reasoning_summary_part.done', ...place, part: part() },
      ]
      const summary = text === '' ? [] : [part()]
      return {
        events: text === '' ? [] : events,
        item: { id: at.item_id, type: 'reasoning', summary, ...sealed() },
      }
    },
  }
  return { item, events: [added(at, { id: at.item_id, type: 'reasoning', summary: [], ...sealed() })] }
}

function wantsSeal({ body }: Exchange): boolean {
  return Array.isArray(body['include']) && body['include'].includes('reasoning.encrypted_content')
}

function openCall(
  at: OpenItem['at'],
  tool: OfferedTool,
  callId: string,
): { item: OpenItem; events: ItemEvent[] } {
  const custom = tool.kind === 'custom'
  const field = custom ? 'input' : 'arguments'
  const event = custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  let input = ''
  const whole = (status: string): JsonObject => ({
    id: at.item_id,
    type: custom ? 'custom_tool_call' : 'function_call',
    status,
    call_id: callId,
    name: tool.name,
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
    [field]: input,
  })
  const item: OpenItem = {
    at,
    push(step) {
      if (step.type !== 'call-input') return []
      input += step.text
      return [{ type: `${event}.delta`, ...at, delta: step.text }]
    },
    close(status) {
      const name = custom ? {} : { name: tool.name }
      return { events: [{ type: `${event}.done`, ...at, ...name, [field]: input }], item: whole(status) }
    },
  }
  return { item, events: [added(at, whole('in_progress'))] }
}

function imageEvents(at: OpenItem['at'], finished: JsonValue[]): ItemEvent[] {
  const item = {
    id: at.item_id,
    type: 'image_generation_call',
    status: 'completed',
    output_format: 'png',
    result: IMAGE_BASE64,
  }
  finished[at.output_index] = item
  return [
    added(at, { id: at.item_id, type: 'image_generation_call', status: 'in_progress', result: null }),
    { type: 'response.image_generation_call.in_progress', ...at },
    { type: 'response.image_generation_call.generating', ...at },
    { type: 'response.image_generation_call.completed', ...at },
    { type: 'response.output_item.done', output_index: at.output_index, item },
  ]
}
