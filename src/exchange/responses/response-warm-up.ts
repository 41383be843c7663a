import { endLimits } from '@/exchange/admission/limiting.ts'
import type { ConversationCall } from '@/exchange/call.ts'
import { readPrompt, receive } from '@/exchange/exchange.ts'
import { admitFree } from '@/exchange/pass.ts'
import { openRecord } from '@/exchange/record.ts'
import { emptyResponse } from '@/formats/openai-responses/answer/reply.ts'
import type { JsonObject } from '@/json/json.ts'
import type { ResponseGateway } from './kept-responses.ts'
import { openTurn, type ResponseTurn, readReference, type TurnMemory } from './turn.ts'

/**
 * A request that is to be got ready and not answered (`generate: false`): its items are remembered under the id of an
 * empty response, from which the next request goes on. Costs nothing, since no upstream is asked.
 * @returns the events of the empty response
 * @throws GatewayError of admission, and for what cannot be read
 */
export async function warmUp(
  gateway: ResponseGateway,
  call: ConversationCall,
  memory: TurnMemory,
): Promise<JsonObject[]> {
  const record = openRecord(gateway.newRequestId(), call.surface, gateway.clock)
  let turn: ResponseTurn | undefined
  const state: ConversationCall['state'] = {
    async resolve(body) {
      const opened = await openTurn(gateway, record, { body, fields: readReference(body.json), memory })
      turn = opened.turn
      return opened.body
    },
  }
  const warming = { ...call, state }
  await receive(gateway, record, warming, () => readPrompt(gateway, record, warming))
  await admitFree(gateway, record)
  endLimits(gateway, record)
  if (turn === undefined) return []
  memory.remember(turn.id, [...turn.earlier, ...turn.input])
  return emptyEvents(turn)
}

const NO_USAGE: JsonObject = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
}

function emptyEvents({ id, model, wire, createdAt: createdMs }: ResponseTurn): JsonObject[] {
  const createdAt = Math.floor(createdMs / 1000)
  const begun = emptyResponse(id, model, { wire, createdAt })
  const ended = emptyResponse(id, model, { wire, createdAt, status: 'completed', usage: NO_USAGE })
  return [
    { type: 'response.created', sequence_number: 0, response: begun },
    { type: 'response.completed', sequence_number: 1, response: ended },
  ]
}
