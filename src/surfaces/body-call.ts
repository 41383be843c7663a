import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { outlineOf, type RequestBody } from '@/exchange/admission/body.ts'
import type { CallFacts } from '@/exchange/exchange.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * The model of a call that may say anything else.
 * @throws GatewayError `invalid_request`
 */
export function readModel(body: JsonObject): string {
  const model = body['model']
  if (typeof model === 'string' && model !== '') return model
  throw invalidRequest('model', 'expected the name of a model')
}

/** All that the gateway acts on in a body; everything else is between the caller and the model. */
const Call = Type.Object(
  {
    model: Type.String({ minLength: 1 }),
    stream: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  },
  { additionalProperties: true },
)

const call = TypeCompiler.Compile(Call)

/**
 * Model and stream, for the formats that have them in the body.
 * @throws GatewayError `invalid_request`
 */
export function readBodyCall(body: RequestBody): CallFacts {
  const json: unknown = outlineOf(body)
  if (!isCall(json)) {
    readModel(outlineOf(body))
    throw invalidRequest('stream', 'expected true, false or null')
  }
  return { model: json.model, stream: json.stream ?? false, framing: 'sse' }
}

function isCall(value: unknown): value is Static<typeof Call> {
  return call.Check(value)
}
