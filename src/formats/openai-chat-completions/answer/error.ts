import type { GatewayError } from '@/errors/gateway-error.ts'
import { encodeOpenaiError } from '@/formats/openai/error.ts'

/** An error after output: one event and then nothing, no `[DONE]` either, so that nobody takes it for an end. */
export function encodeErrorEvent(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(encodeOpenaiError(error, requestId))}\n\n`
}
