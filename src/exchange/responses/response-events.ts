import { KEEPALIVE_MS } from '@/exchange/relay/outlet.ts'
import { streamHeaders } from '@/exchange/relay/reply.ts'
import { CODECS } from '@/formats/registry.ts'
import { asString, parseObject } from '@/json/json.ts'
import { formatEvent } from '@/sse/event.ts'
import { isRunning, type ResponseKey, type StoredEvent } from '@/stored-responses/stored-response.ts'
import type { ResponseGateway } from './kept-responses.ts'

/** How often events of a response that runs in another process are looked for. */
const LOOK_MS = 250

/** The stored events of a response after a number, and those that are still to come if it runs. */
export function eventResponse(
  gateway: ResponseGateway,
  key: ResponseKey,
  after: number,
  headers: Record<string, string>,
): Response {
  const reader = { isThere: true }
  const events = followEvents(gateway, key, after, reader)
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await events.next()
        if (next.done === true) controller.close()
        else controller.enqueue(Buffer.from(next.value))
      },
      cancel() {
        reader.isThere = false
      },
    },
    { highWaterMark: 1 },
  )
  return new Response(body, { headers: { ...streamHeaders('sse'), ...headers } })
}

async function* followEvents(
  { responses, clock }: ResponseGateway,
  key: ResponseKey,
  after: number,
  reader: { isThere: boolean },
): AsyncGenerator<string, undefined> {
  const { store } = responses
  let last = after
  // A first keepalive takes the head to the caller, which waits for a byte.
  let silentSince = Number.NEGATIVE_INFINITY
  while (reader.isThere) {
    // Asked for before the events: what ended before then has all of them.
    const found = await store.find(key)
    const events = await store.eventsAfter(key, last)
    last = events.at(-1)?.number ?? last
    if (events.length > 0) {
      silentSince = clock.elapsed()
      yield events.map(eventText).join('')
    } else if (found === undefined || !isRunning(found.status)) return undefined
    else if (clock.elapsed() - silentSince >= KEEPALIVE_MS) {
      silentSince = clock.elapsed()
      yield CODECS['openai-responses'].keepalive
    } else await responses.news(key.id, LOOK_MS)
  }
  return undefined
}

function eventText({ data }: StoredEvent): string {
  return formatEvent(asString(parseObject(data)?.['type']), data)
}
