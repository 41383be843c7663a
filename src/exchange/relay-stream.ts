import type { GatewayError } from '@/errors/gateway-error.ts'
import { createArrayFramer } from '@/formats/gemini-generate-content/json-array.ts'
import { CODECS } from '@/formats/registry.ts'
import { runMachine } from '@/generation/machine.ts'
import { AnswerPipeline } from './answer-pipeline.ts'
import type { Conversation } from './conversation.ts'
import { forgetAsked, freeSent } from './preparation.ts'
import type { Prompt } from './prompt.ts'
import { relayFlow } from './relay-flow.ts'
import { streamHeaders } from './reply.ts'

/**
 * A caller who wants a stream; see relayFlow.
 * @throws GatewayError when every route failed before any output
 */
export function relayStream(conversation: Conversation, onEnd: () => void): Promise<Response> {
  const { record, prompt, reservation } = conversation
  const { bill } = reservation
  return relayFlow(
    conversation,
    {
      outlet: {
        keepalive: Buffer.from(CODECS[prompt.format].keepalive),
        breakAfterError: prompt.format === 'gemini-generate-content',
        tellsAtEnd: true,
        encodeError: error => Buffer.from(encodeLoneError(error, prompt, record.id)),
      },
      open: preparation => {
        freeSent(preparation, prompt)
        return new AnswerPipeline(prompt, preparation)
      },
      committed: preparation => forgetAsked(preparation, prompt),
      used: pipeline => bill.usedUp(pipeline.meter),
      look: pipeline => bill.tick(pipeline.meter),
      headers: () => streamHeaders(prompt.framing),
    },
    onEnd,
  )
}

/** An error as the only event of a stream. */
function encodeLoneError(error: GatewayError, prompt: Prompt, requestId: string): string {
  const event = CODECS[prompt.format].encodeErrorEvent(error, requestId, undefined)
  return prompt.framing === 'json-array' ? runMachine(createArrayFramer(), [event]).join('') : event
}
