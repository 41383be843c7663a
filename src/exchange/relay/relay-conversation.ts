import type { Conversation } from '@/exchange/conversation.ts'
import { relayStream } from './relay-stream.ts'
import { relayWhole } from './relay-whole.ts'

/**
 * Relays the answer, streamed or whole. Returns when its head can be sent, and calls `onEnd` once when all is over.
 * @throws GatewayError when there will be no answer; `onEnd` is not called then
 */
export function relayConversation(conversation: Conversation, onEnd: () => void): Promise<Response> {
  return conversation.prompt.stream ? relayStream(conversation, onEnd) : relayWhole(conversation, onEnd)
}
