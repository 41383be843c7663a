import { outlineOf, textsOf } from '@/exchange/admission/body.ts'
import { FREE_BYTES } from '@/exchange/admission/body-arrival.ts'
import { MadeRoom } from '@/exchange/admission/made-room.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import type { Admitted, Servable } from '@/exchange/attempt/failover.ts'
import { mediaOf } from '@/exchange/attempt/media.ts'
import { isPassthrough, passedBody } from '@/exchange/attempt/passthrough-request.ts'
import { type Preparation, type PrepareOptions, prepare } from '@/exchange/attempt/preparation.ts'
import { CODECS } from '@/formats/registry.ts'
import type { ConversationTraits, ResponseChain } from '@/routing/affinity.ts'
import type { Model } from '@/routing/model.ts'
import { destinationOf } from '@/routing/order.ts'
import { callerOf, type ExchangeRecord } from './record.ts'

/** A conversation that was admitted. */
interface AdmittedPrompt extends Admitted {
  prompt: Prompt
  /** What the upstream's format cannot say is an error, and not a loss. */
  strict: boolean
}

/** A conversation that was admitted, ready for attempts. */
export type Conversation = AdmittedPrompt & Servable<Preparation>

/** Says how attempts are made of an admitted prompt: on which routes, in which order, with which request. */
export function converse(admitted: AdmittedPrompt, chain: ResponseChain | undefined): Conversation {
  const { gateway, record, prompt, model, reservation, strict } = admitted
  const options = {
    requestId: record.id,
    now: record.startedAt,
    newId: gateway.newCallId,
    answers: reservation.bill.quote.answers,
    strict,
    goesOn: chain?.previousId !== undefined,
  }
  giveRoom(admitted)
  let isRefused = false
  return {
    ...admitted,
    routes: model.routes,
    // Made anew when asked for: kept, they would hold the prompt's texts in memory to the end of the answer.
    get traits() {
      return { ...traitsOf(record, prompt, model), chain }
    },
    prepare: preparer(admitted, options),
    leaveOut: (blamed, refusedBy) => {
      if (strict) return false
      switch (blamed) {
        case 'reasoning':
          if (prompt.withoutReasoning) return false
          gateway.foreignReasoning.refused(destinationOf(refusedBy), signaturesOf(prompt))
          prompt.withoutReasoning = true
          isRefused = true
          return true
        case 'thought-summary':
        case 'thinking':
          // Where the caller's own bytes are handed on, it is the caller who asks.
          if (prompt.refusedWishes.includes(blamed) || isPassthrough(prompt, refusedBy.route)) return false
          gateway.refusedWishes.refused(blamed, refusedBy)
          prompt.refusedWishes = [...prompt.refusedWishes, blamed]
          return true
        default:
          return false
      }
    },
    recallRefusal: candidate => {
      if (strict) return
      const { foreignReasoning, refusedWishes } = gateway
      prompt.refusedWishes = refusedWishes.refusedBy(candidate)
      if (isRefused) return
      prompt.withoutReasoning = foreignReasoning.isKnown(destinationOf(candidate), () => signaturesOf(prompt))
    },
  }
}

/** Where room for a large prompt comes from, and goes back to at the end of the exchange at the latest. */
export function giveRoom({
  gateway,
  record,
  prompt,
}: Pick<AdmittedPrompt, 'gateway' | 'record' | 'prompt'>): void {
  if (prompt.body.bytes.length <= FREE_BYTES) return
  const room = new MadeRoom(callerOf(record).accountId, gateway.bodyRoom)
  prompt.room = room
  record.releases.push(() => room.giveBack())
}

/** What signs the reasoning that a conversation brings along, as the caller sent it. */
function signaturesOf({ body, format }: Prompt): readonly string[] {
  return CODECS[format].passthrough.signatures(passedBody(body))
}

/** Writes the prompt for a route. Media that its format cannot take by address are fetched first, if they may be. */
function preparer(admitted: AdmittedPrompt, options: PrepareOptions): Conversation['prepare'] {
  const { gateway, prompt, model } = admitted
  if (!gateway.fetchesMedia()) return route => prepare(prompt, model, route, options)
  const fetchAll = mediaOf(admitted)
  return async route => prepare(prompt, model, route, { ...options, media: await fetchAll(route) })
}

/** What identifies the conversation that a request continues, so that it is sent where its prompt is cached. */
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
