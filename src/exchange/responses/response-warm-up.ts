import { endLimits } from '@/exchange/admission/limiting.ts'
import type { ConversationCall } from '@/exchange/call.ts'
import { readPrompt, receive } from '@/exchange/exchange.ts'
import { admitFree } from '@/exchange/pass.ts'
import { openRecord } from '@/exchange/record.ts'
import { responseId } from '@/formats/openai-responses/error.ts'
import { echo, responseState } from '@/formats/openai-responses/reply.ts'
import type { JsonObject } from '@/json/json.ts'
import type { ResponseGateway } from './kept-responses.ts'
import { openTurn, readReference, type Turn, type TurnMemory } from './turn.ts'

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
  let turn: Turn | undefined
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
  const id = responseId(record.id)
  memory.remember(id, [...turn.earlier, ...turn.input])
  return emptyEvents(id, turn)
}

const NO_USAGE: JsonObject = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
}

function emptyEvents(id: string, turn: Turn): JsonObject[] {
  const response = (status: 'in_progress' | 'completed', usage: JsonObject | null): JsonObject => ({
    ...echo(turn.wire),
    ...responseState({
      id,
      model: turn.model,
      createdAt: Math.floor(turn.createdAt / 1000),
      status,
      incompleteReason: null,
      error: null,
      output: [],
      usage,
      serviceTier: undefined,
    }),
  })
  return [
    { type: 'response.created', sequence_number: 0, response: response('in_progress', null) },
    { type: 'response.completed', sequence_number: 1, response: response('completed', NO_USAGE) },
  ]
}
