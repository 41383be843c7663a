import { GatewayError } from '@/errors/gateway-error.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import { faultInBody } from '@/exchange/attempt/attempt.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { spliceJson } from '@/json/splice.ts'
import type { Route } from '@/routing/model.ts'
import { dialectOf } from './dialect.ts'
import { noSuchThing } from './operation.ts'

/** The content type of bodies that are JSON. */
export const JSON_TYPE = 'application/json'

/** The objection to every channel without OpenAI's operations. */
export function needsOpenai(model: string): (route: Route) => GatewayError | undefined {
  return ({ channel }) => (dialectOf(channel.format) === 'openai' ? undefined : noSuchThing(model))
}

/** A model's full name at Gemini, as it stands in bodies. */
export function geminiName(upstreamModel: string): string {
  return /^(models|tunedModels)\//.test(upstreamModel) ? upstreamModel : `models/${upstreamModel}`
}

/** The caller's own JSON body, with nothing changed but the model. */
export function renameModel({ bytes, json }: RequestBody, { upstreamModel }: Route): Uint8Array {
  const edits = json['model'] === upstreamModel ? [] : [{ path: ['model'], value: upstreamModel }]
  return spliceJson(bytes, edits, json)
}

/**
 * An upstream's whole answer in JSON.
 * @throws GatewayError for an error inside a 200, and for what is no JSON object
 */
export function readAnswer(bytes: Uint8Array): JsonObject {
  const text = new TextDecoder().decode(bytes)
  const json = parseObject(text)
  if (json === undefined) {
    throw new GatewayError('upstream_error', 'The upstream answered with something that is not JSON', {
      retry: 'next-channel',
      detail: `the body is ${bytes.length} bytes long`,
    })
  }
  const fault = faultInBody(json, () => text)
  if (fault !== undefined) throw fault
  return json
}
