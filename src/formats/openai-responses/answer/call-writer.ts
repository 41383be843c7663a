import { encodeCall, type ToolCall } from '@/formats/openai-responses/calls.ts'
import type { ItemStatus, StreamEventType } from '@/formats/openai-responses/wire.ts'
import type { PlainWriter } from '@/formats/plain/plain-text.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { lineStart } from './event-line.ts'
import { type ItemEnd, type ItemWriter, itemEvent, itemFields, type Place } from './item-writer.ts'

/** A call that the client runs. Only functions and custom tools have deltas; the other kinds come whole. */
export class CallWriter implements ItemWriter {
  readonly #place: Place
  readonly #call: ToolCall
  readonly #head: string
  #status: ItemStatus = 'in_progress'
  ended = false

  constructor(place: Place, call: Omit<ToolCall, 'input'>) {
    this.#place = place
    this.#call = { ...call, input: '' }
    this.#head = itemFields(place)
  }

  open(): string {
    return itemEvent('added', this.#place, this.item())
  }

  delta(text: string): string {
    this.#call.input += text
    const type = DELTA_EVENTS[this.#call.kind]
    if (type === undefined) return ''
    return this.#place.lines.line(type, `${this.#head},"delta":${JSON.stringify(text)}`)
  }

  /** See StreamEncoder. */
  plainText(): PlainWriter | undefined {
    const type = DELTA_EVENTS[this.#call.kind]
    if (type === undefined) return undefined
    return {
      before: lineStart(type),
      numbered: { between: `,${this.#head},"delta":"`, counter: this.#place.lines },
      after: '"}\n\n',
      held: undefined,
      note: {
        of: 'text',
        add: text => {
          this.#call.input += text
        },
      },
    }
  }

  /** No arguments are an empty object, never an empty text: agents parse it. */
  end(): string {
    this.ended = true
    return this.#call.kind === 'function' && this.#call.input === '' ? this.delta('{}') : ''
  }

  close(end: ItemEnd): string {
    const { kind, input } = this.#call
    const isWhole = end === 'completed' || (kind !== 'custom' && parseObject(input) !== undefined)
    this.#status = isWhole ? 'completed' : 'incomplete'
    return this.#inputDone() + itemEvent('done', this.#place, this.item())
  }

  item(): JsonObject {
    return encodeCall(this.#call, this.#place.id, this.#status)
  }

  #inputDone(): string {
    const { kind, input, name } = this.#call
    if (kind === 'function') {
      const fields = `${this.#head},"name":${JSON.stringify(name)},"arguments":${JSON.stringify(input)}`
      return this.#place.lines.line('response.function_call_arguments.done', fields)
    }
    if (kind !== 'custom') return ''
    return this.#place.lines.line(
      'response.custom_tool_call_input.done',
      `${this.#head},"input":${JSON.stringify(input)}`,
    )
  }
}

const DELTA_EVENTS: Readonly<Partial<Record<ToolCall['kind'], StreamEventType>>> = {
  function: 'response.function_call_arguments.delta',
  custom: 'response.custom_tool_call_input.delta',
}
