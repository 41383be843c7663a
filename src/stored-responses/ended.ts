import { parseObject } from '@/json/json.ts'
import { spliceText } from '@/json/splice.ts'
import type { ResponseEnd } from './store.ts'
import type { StoredEvent } from './stored-response.ts'

/** How a response ended that did not come to an end by itself. */
export interface AbruptEnd {
  status: 'failed' | 'cancelled'
  /** The response's `error`; null for one that its caller cancelled. */
  error: { code: string; message: string } | null
}

/**
 * How a response ends of which nothing more comes: it is what it was at its start, with the items that were whole by then.
 * @param last events that are not stored yet
 */
export function abruptEnd(
  response: string,
  stored: readonly StoredEvent[],
  last: readonly StoredEvent[],
  end: AbruptEnd,
): ResponseEnd {
  const events = [...stored, ...last]
  const ended = spliceText(response, [
    { path: ['status'], value: end.status },
    { path: ['error'], value: end.error },
    { path: ['output'], text: `[${doneItems(events).join(',')}]` },
  ])
  return { status: end.status, response: ended, events: [...last, lastEvent(ended, events, end)] }
}

/**
 * The event that ends the stream of such a response. One that was cancelled counts as incomplete: clients refuse
 * types that they do not know, and its status says the rest.
 */
function lastEvent(response: string, events: readonly StoredEvent[], end: AbruptEnd): StoredEvent {
  const type = end.status === 'failed' ? 'response.failed' : 'response.incomplete'
  const number = (events.at(-1)?.number ?? -1) + 1
  const data = `{"type":"${type}","sequence_number":${number},"response":${response}}`
  return { number, data }
}

/** The items that a stream has ended, in the order of their places. */
export function doneItems(events: readonly StoredEvent[]): string[] {
  const items = new Map<number, string>()
  for (const { data } of events) {
    const event = data.includes('response.output_item.done') ? parseObject(data) : undefined
    if (event?.['type'] !== 'response.output_item.done') continue
    items.set(Number(event['output_index'] ?? items.size), JSON.stringify(event['item']))
  }
  return [...items].sort(([one], [other]) => one - other).map(([, item]) => item)
}
