import { errorFields } from '@/formats/openai-responses/answer/error.ts'
import { parseObject } from '@/json/json.ts'
import { spliceText } from '@/json/splice.ts'
import type { ResponseEnd } from '@/stored-responses/store.ts'
import type { StoredEvent } from '@/stored-responses/stored-response.ts'

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
  return { status: end.status, response: ended, events: [...last, ...lastEvents(ended, events, end)] }
}

/**
 * The events that end the stream of such a response. One that was cancelled counts as incomplete: clients refuse types that
 * they do not know, and its status says the rest. One that failed says so in an `error` first, as all do.
 */
function lastEvents(response: string, events: readonly StoredEvent[], { error }: AbruptEnd): StoredEvent[] {
  const next = (events.at(-1)?.number ?? -1) + 1
  const ending = (type: string, number: number): StoredEvent => ({
    number,
    data: `{"type":"${type}","sequence_number":${number},"response":${response}}`,
  })
  if (error === null) return [ending('response.incomplete', next)]
  const told = { type: 'error', sequence_number: next, ...errorFields({ ...error, param: null }) }
  return [{ number: next, data: JSON.stringify(told) }, ending('response.failed', next + 1)]
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
