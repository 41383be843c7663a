import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { RequestBody } from '@/exchange/body.ts'
import type { CallFacts } from '@/exchange/exchange.ts'
import { invalidRequest } from '@/formats/invalid.ts'

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
  const json: unknown = body.json
  if (!isCall(json)) {
    const isModelFine = typeof body.json['model'] === 'string' && body.json['model'] !== ''
    throw isModelFine
      ? invalidRequest('stream', 'expected true, false or null')
      : invalidRequest('model', 'expected the name of a model')
  }
  return { model: json.model, stream: json.stream ?? false, framing: 'sse' }
}

function isCall(value: unknown): value is Static<typeof Call> {
  return call.Check(value)
}
