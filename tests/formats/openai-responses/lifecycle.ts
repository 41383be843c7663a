import { asArray, asNumber, asObject, asString, type JsonObject } from '@/json/json.ts'

interface Followed {
  id: string
  texts: Map<string, string>
  done: JsonObject | undefined
}

/** The text that ends each kind of delta, by the event that carries it whole. */
const WHOLE: Record<string, string> = {
  'response.output_text.done': 'text',
  'response.refusal.done': 'refusal',
  'response.reasoning_text.done': 'text',
  'response.reasoning_summary_text.done': 'text',
  'response.function_call_arguments.done': 'arguments',
  'response.custom_tool_call_input.done': 'input',
}

const TERMINAL = /^response\.(completed|incomplete|failed)$/

/** Holds a stream to the order of its lifecycle. Gives what breaks it, nothing for a lawful one. */
export function violations(data: readonly JsonObject[]): string[] {
  const broken: string[] = []
  const items: Followed[] = []
  const must = (holds: boolean, rule: string) => {
    if (!holds) broken.push(rule)
  }
  for (const [position, event] of data.entries()) {
    const type = asString(event['type']) ?? ''
    must(event['sequence_number'] === position, `${position}: sequence number`)
    must((position === 0) === (type === 'response.created'), `${position}: response.created is first`)
    must(
      (position === 1) === (type === 'response.in_progress'),
      `${position}: response.in_progress is second`,
    )
    must((position === data.length - 1) === TERMINAL.test(type), `${position}: one terminal event, last`)
    const index = asNumber(event['output_index'])
    if (index === undefined) continue
    if (type === 'response.output_item.added') {
      const item = asObject(event['item'])
      must(index === items.length, `${position}: running output_index`)
      must(item?.['status'] === 'in_progress', `${position}: an added item is in progress`)
      items.push({ id: asString(item?.['id']) ?? '', texts: new Map(), done: undefined })
      continue
    }
    const item = items[index]
    if (item === undefined) {
      broken.push(`${position}: ${type} before its item`)
      continue
    }
    must(item.done === undefined, `${position}: ${type} after its item is done`)
    if (type === 'response.output_item.done') {
      item.done = asObject(event['item'])
      must(item.done?.['id'] === item.id, `${position}: the same id to the end`)
      continue
    }
    must(event['item_id'] === item.id, `${position}: item_id`)
    const base = type.slice(0, type.lastIndexOf('.'))
    const part = String(event['content_index'] ?? event['summary_index'] ?? '')
    const key = `${base} ${part}`
    if (type.endsWith('.delta')) item.texts.set(key, (item.texts.get(key) ?? '') + event['delta'])
    const whole = WHOLE[type]
    if (whole !== undefined)
      must(event[whole] === (item.texts.get(key) ?? ''), `${position}: ${type} is its deltas`)
  }
  const last = data.at(-1)
  const output = asArray(asObject(last?.['response'])?.['output'])
  if (last?.['type'] === 'response.failed') return broken
  must(
    items.every(item => item.done !== undefined),
    'all items are done before the end',
  )
  must(
    JSON.stringify(output) === JSON.stringify(items.map(item => item.done)),
    'the final output is the done items',
  )
  return broken
}
