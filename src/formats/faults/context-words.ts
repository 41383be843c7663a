import { type GatewayError, messageWithId } from '@/errors/gateway-error.ts'
import { faultOf } from './fault.ts'

/** True for a complaint that the prompt is longer than the model's context. */
export function isContextLength(error: GatewayError): boolean {
  return error.code === 'context_length_exceeded' || faultOf(error)?.contextLength === true
}

/**
 * The message for callers whose clients know such a complaint by the words of their own vendor, and then shorten the
 * conversation (LangChain, LiteLLM, Strands): where the upstream has others, `words` stand before them.
 * @param mark what of those words the clients look for
 */
export function messageWithContextWords(
  error: GatewayError,
  requestId: string,
  words: string,
  mark: string,
): string {
  const message = messageWithId(error, requestId)
  return isContextLength(error) && !message.includes(mark) ? `${words}: ${message}` : message
}
