import { Elysia } from 'elysia'
import { inTime } from '@/db/in-time.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type BodyTerms, inRoom, termsOf } from '@/exchange/admission/body-arrival.ts'
import { attend } from '@/exchange/attendance.ts'
import type { Listener } from '@/exchange/call.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import { identityHeaders } from '@/exchange/relay/reply.ts'
import type { ResponseGateway } from '@/exchange/responses/kept-responses.ts'
import { eventResponse } from '@/exchange/responses/response-events.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { isRunning, type ResponseHead, type ResponseKey } from '@/stored-responses/stored-response.ts'
import { brokenPath } from '@/surfaces/path-text.ts'
import { inputPage } from './input-items.ts'
import { shownResponse } from './shown-response.ts'

/** A response takes the memory of so many bodies of its size: as it lies there, as text, and as what is answered. */
const BODIES = 2

/** What a caller asks of a stored response. */
interface StoredCall {
  key: ResponseKey
  query: URLSearchParams
  headers: Record<string, string>
  terms: BodyTerms
  /** Begins to look whether they may be given more. */
  follow: () => Interruption
}

/** The responses that were stored: to be fetched, followed, cancelled, deleted, their input listed. */
export function storedResponses(gateway: ResponseGateway, listener: Listener) {
  // Whatever the router's types say, a part of a path whose encoding is broken is null.
  const serve = (request: Request, id: string | null, act: (call: StoredCall) => Promise<Response>) =>
    attend(gateway, { request, listener, surface: 'responses' }, ({ caller, record }) => {
      if (id === null) throw brokenPath()
      const call = {
        key: { accountId: caller.accountId, id },
        query: new URL(request.url).searchParams,
        headers: identityHeaders(record.id, 'responses'),
        terms: termsOf(caller, gateway),
        follow: () => gateway.followers.follow(request, listener),
      }
      return inTime(act(call), gateway.clock)
    })
  return new Elysia({ name: 'stored-responses' })
    .get('/v1/responses/:id', ({ request, params }) => serve(request, params.id, call => show(gateway, call)))
    .delete('/v1/responses/:id', ({ request, params }) =>
      serve(request, params.id, call => remove(gateway, call)),
    )
    .post(
      '/v1/responses/:id/cancel',
      ({ request, params }) => serve(request, params.id, call => cancel(gateway, call)),
      { parse: 'none' },
    )
    .get('/v1/responses/:id/input_items', ({ request, params }) =>
      serve(request, params.id, call => listInput(gateway, call)),
    )
}

async function show(gateway: ResponseGateway, call: StoredCall): Promise<Response> {
  const { key, query, headers, terms } = call
  const { background, responseBytes } = await headOf(gateway, key)
  if (!wantsStream(query)) return answer(gateway, call, responseBytes)
  const after = readNumber(query.get('starting_after'))
  const { store } = gateway.responses
  const isMade = async () => (await store.eventsAfter(key, -1)).length > 0
  if (!background && !(await inRoom(BODIES * responseBytes, terms, isMade))) {
    throw invalidRequest('stream', 'this response was not made as a stream')
  }
  return eventResponse(gateway, key, { after, headers, interruption: call.follow() })
}

async function remove(gateway: ResponseGateway, { key, headers }: StoredCall): Promise<Response> {
  const { background } = await headOf(gateway, key)
  if (background) await gateway.responses.cancel(key.id)
  if (!(await gateway.responses.store.remove(key))) throw notFound(key.id)
  return json(JSON.stringify({ id: key.id, object: 'response', deleted: true }), headers)
}

async function cancel(gateway: ResponseGateway, call: StoredCall): Promise<Response> {
  const { status, background, responseBytes } = await headOf(gateway, call.key)
  if (!background) {
    throw new GatewayError('invalid_request', 'Only responses that run in the background can be cancelled')
  }
  await gateway.responses.cancel(call.key.id)
  // Whoever ended it is told so, and can do that once; what had ended may be asked for any number of times.
  return answer(gateway, call, isRunning(status) ? 0 : responseBytes)
}

async function listInput(gateway: ResponseGateway, call: StoredCall): Promise<Response> {
  const { key, query, headers, terms } = call
  const { inputBytes } = await headOf(gateway, key)
  return inRoom(BODIES * inputBytes, terms, async () => {
    const items = await gateway.responses.store.findInput(key)
    if (items === undefined) throw notFound(key.id)
    return json(JSON.stringify(inputPage(key.id, items, query)), headers)
  })
}

/** The response as it is now, if there is memory for so many bytes. */
function answer(
  gateway: ResponseGateway,
  { key, query, headers, terms }: StoredCall,
  bytes: number,
): Promise<Response> {
  return inRoom(BODIES * bytes, terms, async () => {
    const found = await gateway.responses.store.find(key)
    if (found === undefined) throw notFound(key.id)
    return json(shownResponse(found, includes(query)), headers)
  })
}

async function headOf(gateway: ResponseGateway, key: ResponseKey): Promise<ResponseHead> {
  const head = await gateway.responses.store.head(key)
  if (head === undefined) throw notFound(key.id)
  return head
}

/** The one text for what does not exist, has expired, was deleted, or is another account's. */
function notFound(id: string): GatewayError {
  return new GatewayError('not_found', `Response with id '${id.slice(0, 100)}' not found`)
}

function json(body: string, headers: Record<string, string>): Response {
  return new Response(body, { headers: { 'content-type': 'application/json', ...headers } })
}

/** `include[]=a&include[]=b`, as OpenAI's SDKs write it, or `include=a`. */
function includes(query: URLSearchParams): string[] {
  return [...query.getAll('include[]'), ...query.getAll('include')]
}

/** A parameter that is empty says nothing. */
function wantsStream(query: URLSearchParams): boolean {
  const word = query.get('stream') || 'false'
  if (word === 'true' || word === 'false') return word === 'true'
  throw invalidRequest('stream', 'expected true or false')
}

function readNumber(text: string | null): number {
  if (text === null) return -1
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw invalidRequest('starting_after', 'expected the sequence_number of an event')
}
