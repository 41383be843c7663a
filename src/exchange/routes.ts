import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import type { Model, Route } from '@/routing/model.ts'
import type { Reservation } from './charge.ts'
import type { Gateway } from './gateway.ts'
import { type Preparation, prepare } from './preparation.ts'
import type { Prompt } from './prompt.ts'
import type { ExchangeRecord } from './record.ts'
import { orderRoutes } from './selection.ts'

/** At most this many upstream requests for one of the caller's: clients retry as well. */
export const MAX_ATTEMPTS = 3

/** An exchange that was admitted. */
export interface Admitted {
  gateway: Gateway
  record: ExchangeRecord
  prompt: Prompt
  model: Model
  reservation: Reservation
  /** Aborts when the caller leaves, or when there is no money for the answer. */
  signal: AbortSignal
}

/**
 * Runs `attempt` on one route after the other, as long as the failure says that the next may do better and
 * `mayRetry` allows it.
 * @throws GatewayError of the last attempt, or `no_channel`
 */
export async function overRoutes<T>(
  admitted: Admitted,
  attempt: (preparation: Preparation, route: Route) => Promise<T>,
  mayRetry: () => boolean = () => true,
): Promise<T> {
  const { gateway, record, prompt, model } = admitted
  const routes = orderRoutes(model.routes, prompt.format, gateway.random)
  let failure: GatewayError | undefined
  for (const route of routes.slice(0, MAX_ATTEMPTS)) {
    const channel = route.channel.name
    const preparation = prepareFor(admitted, route)
    try {
      const result = await attempt(preparation, route)
      gateway.metrics.attempts.inc({ channel, outcome: record.error?.kind ?? 'ok' })
      return result
    } catch (error) {
      failure = asGatewayError(error)
      gateway.metrics.attempts.inc({ channel, outcome: failure.kind })
      if (failure.retry !== 'next-channel' || !mayRetry()) throw failure
    }
  }
  throw failure ?? noChannel(prompt.model)
}

function noChannel(model: string): GatewayError {
  return new GatewayError('no_channel', `No channel serves the model '${model}' at the moment`)
}

function prepareFor({ gateway, record, prompt, model }: Admitted, route: Route): Preparation {
  const preparation = prepare(prompt, model, route, {
    requestId: record.id,
    now: record.startedAt,
    newId: gateway.newCallId,
    strict: prompt.headers.get('x-tollgate-strict') === 'true',
  })
  record.attempts += 1
  record.channel = route.channel.name
  record.channelFormat = route.channel.format
  record.losses = preparation.losses
  return preparation
}
