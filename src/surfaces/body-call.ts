import { outlineOf, type RequestBody } from '@/exchange/admission/body.ts'
import { DECISIVE } from '@/exchange/admission/decisive-names.ts'
import { refuseOtherSpellings } from '@/exchange/admission/spellings.ts'
import type { CallFacts } from '@/exchange/call.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

/**
 * The model of a call that may say anything else.
 * @throws GatewayError `invalid_request`
 */
export function readModel(body: JsonObject): string {
  refuseOtherSpellings(body, DECISIVE)
  const model = body['model']
  if (typeof model === 'string' && model !== '') return model
  throw invalidRequest('model', 'expected the name of a model')
}

/**
 * Model and stream, for the formats that have them in the body. But for what a call cannot be without, everything else in
 * it is between the caller and the model.
 * @throws GatewayError `invalid_request`
 */
function readBodyCall(body: RequestBody): CallFacts {
  const json = outlineOf(body)
  const model = readModel(json)
  const stream = json['stream'] ?? false
  if (typeof stream !== 'boolean') throw invalidRequest('stream', 'expected true, false or null')
  return { model, stream, framing: 'sse' }
}

/**
 * The call of a body that has its conversation as `messages`: without them there is nothing to answer, whoever is asked.
 * @throws GatewayError `invalid_request`
 */
export function readMessagesCall(body: RequestBody): CallFacts {
  const facts = readBodyCall(body)
  if (Array.isArray(outlineOf(body)['messages'])) return facts
  throw invalidRequest('messages', 'expected a list of messages')
}

/**
 * The call of a body of Chat Completions, or of one of Responses: Cursor's agent sends that here, and reads Chat Completions.
 * @throws GatewayError `invalid_request`
 */
export function readChatCall(body: RequestBody): CallFacts {
  const { messages, input } = outlineOf(body)
  if (isFilled(messages) || !isFilled(input)) return readMessagesCall(body)
  return { ...readBodyCall(body), format: 'openai-responses' }
}

function isFilled(value: JsonValue | undefined): boolean {
  return (typeof value === 'string' || Array.isArray(value)) && value.length > 0
}

/**
 * The call of a body of Messages, whose callers must say how long an answer may be.
 * @throws GatewayError `invalid_request`
 */
export function readLimitedMessagesCall(body: RequestBody): CallFacts {
  const facts = readMessagesCall(body)
  if (typeof outlineOf(body)['max_tokens'] === 'number') return facts
  throw invalidRequest('max_tokens', 'expected a whole number')
}

/**
 * The call of a body of Responses, where the input may be a text, items, or left to a stored prompt.
 * @throws GatewayError `invalid_request`
 */
export function readInputCall(body: RequestBody): CallFacts {
  const facts = readBodyCall(body)
  const input = outlineOf(body)['input'] ?? ''
  if (typeof input === 'string' || Array.isArray(input)) return facts
  throw invalidRequest('input', 'expected a text or a list of items')
}
