import { outlineOf, textsOf } from '@/exchange/admission/body.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { mediaOf } from '@/exchange/attempt/media.ts'
import { type Preparation, type PrepareOptions, prepare } from '@/exchange/attempt/preparation.ts'
import type { Admitted } from '@/exchange/attempt/routes.ts'
import type { Reservation } from '@/exchange/billing/charge.ts'
import type { ConversationTraits, ResponseChain } from '@/routing/affinity.ts'
import type { Model } from '@/routing/model.ts'
import { callerOf, type ExchangeRecord } from './record.ts'

/** A conversation that was admitted. */
export interface Conversation extends Admitted<Preparation> {
  prompt: Prompt
  reservation: Reservation
  /** What the upstream cannot say is an error instead of a loss. */
  strict: boolean
}

/** The conversation that a prompt is, on all the routes of its model. */
export function converse(
  admitted: Omit<Conversation, 'routes' | 'traits' | 'prepare' | 'forgetReasoning'>,
  chain?: ResponseChain,
): Conversation {
  const { gateway, record, prompt, model, strict } = admitted
  const options = {
    requestId: record.id,
    now: record.startedAt,
    newId: gateway.newCallId,
    strict,
  }
  return {
    ...admitted,
    routes: model.routes,
    // Made when they are asked for, so that they keep nothing of the prompt to the end of an answer.
    get traits() {
      return { ...traitsOf(record, prompt, model), chain }
    },
    prepare: preparer(admitted, options),
    forgetReasoning: () => {
      if (strict || prompt.withoutReasoning) return false
      prompt.withoutReasoning = true
      return true
    },
  }
}

/** Makes the prompt ready for a route; media that its format cannot take by address are fetched first, if they may be. */
function preparer(
  {
    gateway,
    prompt,
    model,
    interruption,
  }: Omit<Conversation, 'routes' | 'traits' | 'prepare' | 'forgetReasoning'>,
  options: PrepareOptions,
): Conversation['prepare'] {
  if (!gateway.fetchesMedia()) return route => prepare(prompt, model, route, options)
  const fetchAll = mediaOf(gateway.fetchMedia, prompt, model, interruption)
  return async route => prepare(prompt, model, route, { ...options, media: await fetchAll(route) })
}

/** What tells which conversation a request goes on with, so that it stays where its prompt is cached. */
export function traitsOf(record: ExchangeRecord, prompt: Prompt, model: Model): ConversationTraits {
  return {
    accountId: callerOf(record).accountId,
    model: model.id,
    format: prompt.format,
    headers: prompt.headers,
    body: outlineOf(prompt.body),
    texts: textsOf(prompt.body),
  }
}
