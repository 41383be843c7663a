import { GatewayError } from '@/errors/gateway-error.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import { requestAgain } from '@/exchange/admission/request-bytes.ts'
import type { CallFacts, ConversationCall } from '@/exchange/call.ts'
import { runExchange } from '@/exchange/exchange.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { errorResponse } from '@/exchange/relay/reply.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { compactionItem, summaryOf } from './compaction-item.ts'
import type { ResponseGateway } from './kept-responses.ts'
import { openTurn, type ResponseTurn, readReference } from './turn.ts'

/** What an upstream of the caller's format answers that has no call for compacting. */
const HAS_NO_SUCH_CALL = new Set([404, 405, 501])

/**
 * Makes a conversation short: asked of an upstream of the same format, whose item only that vendor can read; of any
 * other, and of one that cannot be asked, a summary, sealed for this account. Metered like any other exchange.
 */
export async function compactResponse(gateway: ResponseGateway, call: ConversationCall): Promise<Response> {
  const native = await compactBy(gateway, call, 'compact')
  if (!HAS_NO_SUCH_CALL.has(native.response.status) || native.body === undefined) return native.response
  const request = requestAgain(call.request, native.body, call.request.signal)
  gateway.idempotency.again(call.request, request)
  const listener = { addressOf: () => call.listener.addressOf(call.request) }
  return (await compactBy(gateway, { ...call, request, listener }, 'summary')).response
}

async function compactBy(
  gateway: ResponseGateway,
  call: ConversationCall,
  purpose: 'compact' | 'summary',
): Promise<{ response: Response; body: Uint8Array | undefined }> {
  const seen: { turn?: ResponseTurn; record?: ExchangeRecord; body?: Uint8Array } = {}
  const readCall = (body: RequestBody): CallFacts => ({ ...call.readCall(body), stream: false, purpose })
  const response = await runExchange(gateway, {
    ...call,
    readCall,
    state: {
      async resolve(body, record) {
        seen.body = Buffer.from(body.bytes)
        const opened = await openTurn(gateway, record, {
          body,
          fields: readReference(body.json),
          purpose: 'compact',
        })
        seen.turn = opened.turn
        seen.record = record
        return opened.body
      },
    },
  })
  const { turn, record, body } = seen
  const isSummary = response.ok && record?.asksForSummary === true && turn !== undefined
  return { response: isSummary ? await inCompaction(gateway, response, turn) : response, body }
}

/** A summary as a compaction of ours; what a vendor answers that was asked for one is given as it is. */
async function inCompaction(
  gateway: ResponseGateway,
  response: Response,
  turn: ResponseTurn,
): Promise<Response> {
  const answer = parseObject(await response.text()) ?? {}
  const summary = summaryOf(answer)
  if (summary === '') {
    const error = new GatewayError('upstream_error', 'The model answered without a summary')
    return errorResponse(error, gateway.newRequestId(), 'responses')
  }
  const key = turn.id.replace(/^resp_/, '')
  const compacted = {
    id: turn.id,
    object: 'response.compaction',
    created_at: Math.floor(turn.createdAt / 1000),
    output: [
      ...[...turn.earlier, ...turn.input].flatMap((item, index) => userMessage(item, `msg_${key}${index}`)),
      compactionItem(gateway, turn, summary),
    ],
    usage: answer['usage'] ?? null,
  }
  return new Response(JSON.stringify(compacted), response)
}

/** What the user said stays word for word. */
function userMessage(item: string, id: string): JsonObject[] {
  const message = parseObject(item)
  if (message?.['role'] !== 'user') return []
  const { content } = message
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content
  return [{ id, type: 'message', status: 'completed', role: 'user', content: parts }]
}
