import { clientClosed, type Interruption } from '@/exchange/interruption.ts'
import { KEEPALIVE_MS } from '@/exchange/relay/outlet.ts'
import { streamHeaders } from '@/exchange/relay/reply.ts'
import { CODECS } from '@/formats/registry.ts'
import { asString, parseObject } from '@/json/json.ts'
import { formatEvent } from '@/sse/event.ts'
import { isRunning, type ResponseKey, type StoredEvent } from '@/stored-responses/stored-response.ts'
import type { ResponseGateway } from './kept-responses.ts'

/** How often events of a response that runs in another process are looked for. */
const LOOK_MS = 250

/** Who is given the events of a response. */
interface EventReader {
  /** They have those up to this number; -1: none. */
  after: number
  headers: Record<string, string>
  interruption: Interruption
}

/** The stored events of a response after a number, and those that are still to come if it runs. */
export function eventResponse(gateway: ResponseGateway, key: ResponseKey, reader: EventReader): Response {
  const events = followEvents(gateway, key, reader)
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await events.next()
        if (next.done === true) controller.close()
        else controller.enqueue(Buffer.from(next.value))
      },
      cancel() {
        reader.interruption.interrupt(clientClosed())
      },
    },
    { highWaterMark: 1 },
  )
  return new Response(body, { headers: { ...streamHeaders('sse'), ...reader.headers } })
}

/** A database that is away is waited for like a model that thinks: the stream goes on when it is back. */
async function* followEvents(
  { responses, clock, log }: ResponseGateway,
  key: ResponseKey,
  { after, headers, interruption }: EventReader,
): AsyncGenerator<string, undefined> {
  const { store } = responses
  const codec = CODECS['openai-responses']
  let last = after
  // A first keepalive takes the head to the caller, which waits for a byte.
  let silentSince = Number.NEGATIVE_INFINITY
  let isAway = false
  /** Undefined: the database did not say. */
  const look = async () => {
    try {
      // Asked for before the events: what ended before then has all of them.
      const found = await store.head(key)
      const events = await store.eventsAfter(key, last)
      isAway = false
      return { events, isOver: found === undefined || !isRunning(found.status) }
    } catch (error) {
      if (!isAway) log.warn({ err: error, response: key.id }, 'events of a response could not be read')
      isAway = true
      return undefined
    }
  }
  while (interruption.reason === undefined) {
    const { events, isOver } = (await look()) ?? { events: [], isOver: false }
    last = events.at(-1)?.number ?? last
    if (events.length > 0) {
      silentSince = clock.elapsed()
      yield events.map(eventText).join('')
    } else if (isOver) return undefined
    else if (clock.elapsed() - silentSince >= KEEPALIVE_MS) {
      silentSince = clock.elapsed()
      yield codec.keepalive
    } else await responses.news(key.id, LOOK_MS)
  }
  const lastData = { sequence_number: last, response: { id: key.id } }
  yield codec.encodeErrorEvent(interruption.reason, headers['x-request-id'] ?? '', lastData)
  return undefined
}

function eventText({ data }: StoredEvent): string {
  return formatEvent(asString(parseObject(data)?.['type']), data)
}
