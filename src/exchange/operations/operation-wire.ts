import type { GatewayError } from '@/errors/gateway-error.ts'
import { notOffered } from '@/exchange/admission/admission.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import { notJson } from '@/exchange/attempt/answer-body.ts'
import { faultInBody, judgeEarly } from '@/exchange/attempt/attempt.ts'
import type { Prepared } from '@/exchange/attempt/failover.ts'
import { brokenAnswer, complaintIn } from '@/formats/faults/fault.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { spliceJson } from '@/json/splice.ts'
import type { Route } from '@/routing/model.ts'
import { dialectOf } from './dialect.ts'
import { Form } from './form.ts'

/** The content type of bodies that are JSON. */
export const JSON_TYPE = 'application/json'

/** The content type of event streams. */
export const EVENTS_TYPE = 'text/event-stream; charset=utf-8'

/** The objection to every channel without OpenAI's operations. */
export function needsOpenai(model: string): (route: Route) => GatewayError | undefined {
  return ({ channel }) => (dialectOf(channel.format) === 'openai' ? undefined : notOffered(model))
}

/** The caller's own JSON body, with nothing changed but the model. */
export function renameModel({ bytes, json }: RequestBody, { upstreamModel }: Route): Uint8Array {
  return spliceJson(bytes, [{ path: ['model'], value: upstreamModel }], json)
}

/** A body that may be a form, with nothing changed but the model, as it is sent. */
export function renamed(body: RequestBody | Form, route: Route): Omit<Prepared, 'call'> {
  if (body instanceof Form) return { ...body.encode({ model: route.upstreamModel }), losses: [] }
  return { body: renameModel(body, route), headers: {}, losses: [] }
}

/**
 * An upstream's whole answer in JSON.
 * @throws GatewayError for an error inside a 200, and for what is no JSON object
 */
export function readJsonAnswer(bytes: Uint8Array): JsonObject {
  const text = new TextDecoder().decode(bytes)
  const json = parseObject(text)
  if (json === undefined) throw notJson(bytes)
  const fault = faultInBody(json, () => text)
  if (fault !== undefined) throw fault
  return json
}

/** What an upstream says in JSON that holds no answer: the error that it tells of, else what is missing. */
export function noAnswer(json: JsonObject, missing: string): GatewayError {
  const complaint = complaintIn(json)
  return complaint === undefined ? brokenAnswer(missing) : judgeEarly(complaint)
}
