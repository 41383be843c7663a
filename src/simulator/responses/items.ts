import type { JsonObject, JsonValue } from '@/json/json.ts'
import type { Exchange } from '@/simulator/exchange.ts'
import type { OfferedTool } from '@/simulator/prompt.ts'
import { openaiLogprob } from '@/simulator/script/log-probability.ts'
import { IMAGE_BASE64, type Step } from '@/simulator/script/script.ts'
import { signReasoning } from '@/simulator/script/signature.ts'

/** A stream event before it has its sequence number. */
export type ItemEvent = { type: string } & JsonObject

type ItemStatus = 'completed' | 'incomplete'

/** An item that is open: how to go on with it, and how to close it. */
interface OpenItem {
  at: { item_id: string; output_index: number }
  push(step: Step): ItemEvent[]
  /** The events before `output_item.done`, and the whole item. */
  close(status: ItemStatus): { events: ItemEvent[]; item: JsonObject }
}

/** The same with the events that open it. */
interface OpenedItem {
  item: OpenItem
  events: ItemEvent[]
}

/** Writes an answer's steps as output items and their events. Several tool calls may be open at once. */
export class OutputItems {
  readonly #exchange: Exchange
  readonly #done: JsonValue[] = []
  readonly #calls = new Map<number, OpenItem>()
  /** The item of text, refusal or reasoning that is open. */
  #content: OpenItem | undefined
  #opened = 0

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  /** The closed items, in order. */
  get done(): JsonValue[] {
    return this.#done
  }

  push(step: Step): ItemEvent[] {
    switch (step.type) {
      case 'reasoning':
        return this.#pushContent(step, at => openReasoning(at, this.#exchange), 'rs')
      case 'text':
      case 'refusal':
        return this.#pushContent(step, at => openMessage(at, this.#exchange), 'msg')
      case 'reasoning-end':
        return this.#closeContent()
      case 'call-start':
        return [...this.#closeContent(), ...this.#openCall(step)]
      case 'call-input':
        return this.#calls.get(step.call)?.push(step) ?? []
      case 'call-end': {
        const call = this.#calls.get(step.call)
        this.#calls.delete(step.call)
        return this.#close(call)
      }
      case 'image':
        return [...this.#closeContent(), ...imageEvents(this.#nextPosition('ig'), this.#done)]
      case 'finish':
        return this.#finish(step.reason === 'length' || step.reason === 'filter' ? 'incomplete' : 'completed')
      default:
        return []
    }
  }

  /** Goes on with the item that a step of content belongs to, which is opened if none is. */
  #pushContent(step: Step, open: (at: OpenItem['at']) => OpenedItem, prefix: string): ItemEvent[] {
    const before: ItemEvent[] = []
    if (this.#content === undefined) {
      const { item, events } = open(this.#nextPosition(prefix))
      this.#content = item
      before.push(...events)
    }
    return [...before, ...this.#content.push(step)]
  }

  #openCall({ call, tool }: Extract<Step, { type: 'call-start' }>): ItemEvent[] {
    const at = this.#nextPosition(tool.kind === 'custom' ? 'ctc' : 'fc')
    const { item, events } = openCall(at, tool, `call_${this.#exchange.seed}${call}`)
    this.#calls.set(call, item)
    return events
  }

  /** Closes all that is open. An answer without any item gets an empty message. */
  #finish(status: ItemStatus): ItemEvent[] {
    const events = [...this.#closeContent(status)]
    for (const call of this.#calls.values()) events.push(...this.#close(call, status))
    this.#calls.clear()
    if (this.#opened > 0) return events
    const { item, events: opening } = openMessage(this.#nextPosition('msg'), this.#exchange)
    return [...opening, ...this.#close(item, status)]
  }

  #closeContent(status?: ItemStatus): ItemEvent[] {
    const events = this.#close(this.#content, status)
    this.#content = undefined
    return events
  }

  #close(open: OpenItem | undefined, status: ItemStatus = 'completed'): ItemEvent[] {
    if (open === undefined) return []
    const { output_index } = open.at
    const { events, item } = open.close(status)
    this.#done[output_index] = item
    return [...events, { type: 'response.output_item.done', output_index, item }]
  }

  #nextPosition(prefix: string): OpenItem['at'] {
    const output_index = this.#opened++
    return { item_id: `${prefix}_${this.#exchange.seed}${output_index}`, output_index }
  }
}

function added(at: OpenItem['at'], item: JsonObject): ItemEvent {
  return { type: 'response.output_item.added', output_index: at.output_index, item }
}

/** A message with one part: text, or a refusal when the first step is one. */
function openMessage(at: OpenItem['at'], { prompt }: Exchange): OpenedItem {
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
function openReasoning(at: OpenItem['at'], exchange: Exchange): OpenedItem {
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

function openCall(at: OpenItem['at'], tool: OfferedTool, callId: string): OpenedItem {
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
