import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type TSchema, Type } from '@sinclair/typebox/type'
import { open } from '@/formats/shape.ts'

/** A field that may be missing or null: clients write null for "nothing said". */
function maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

function oneOf<T extends string>(words: readonly T[]) {
  return Type.Union(words.map(word => Type.Literal(word)))
}

const IMAGE_URL = Type.Union([Type.String(), open({ url: Type.String() })])

const PART = open({
  type: Type.String(),
  text: maybe(Type.String()),
  refusal: maybe(Type.String()),
  image_url: maybe(IMAGE_URL),
  input_audio: maybe(
    Type.Union([Type.String(), open({ data: Type.String(), format: maybe(Type.String()) })]),
  ),
  file: maybe(open({})),
})

const CALL = open({
  id: maybe(Type.String()),
  type: maybe(Type.String()),
  function: maybe(open({ name: Type.String(), arguments: maybe(Type.Union([Type.String(), open({})])) })),
  custom: maybe(open({ name: Type.String(), input: maybe(Type.String()) })),
})

const MESSAGE = open({
  role: oneOf(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: maybe(Type.Union([Type.String(), Type.Array(PART)])),
  refusal: maybe(Type.String()),
  tool_calls: maybe(Type.Array(CALL)),
  tool_call_id: maybe(Type.String()),
  function_call: maybe(open({ name: Type.String(), arguments: maybe(Type.String()) })),
  reasoning_content: maybe(Type.String()),
  reasoning_details: maybe(Type.Array(open({}))),
})

const FUNCTION = open({
  name: Type.String({ minLength: 1 }),
  description: maybe(Type.String()),
  parameters: maybe(open({})),
  strict: maybe(Type.Boolean()),
})

/** Clients of Mistral say `function` alone, and no type. */
const TOOL = open({
  type: maybe(Type.String()),
  function: maybe(FUNCTION),
  custom: maybe(open({ name: Type.String({ minLength: 1 }), description: maybe(Type.String()) })),
})

/** A request, as far as the gateway acts on it. */
export const REQUEST = TypeCompiler.Compile(
  open({
    messages: Type.Array(MESSAGE, { minItems: 1 }),
    stream: maybe(Type.Boolean()),
    stream_options: maybe(
      open({ include_usage: maybe(Type.Boolean()), include_obfuscation: maybe(Type.Boolean()) }),
    ),
    max_tokens: maybe(Type.Integer({ minimum: 1 })),
    max_completion_tokens: maybe(Type.Integer({ minimum: 1 })),
    temperature: maybe(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: maybe(Type.Integer()),
    n: maybe(Type.Integer({ minimum: 1, maximum: 128 })),
    stop: maybe(Type.Union([Type.String(), Type.Array(Type.String())])),
    seed: maybe(Type.Integer()),
    presence_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
    frequency_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
    logit_bias: maybe(Type.Record(Type.String(), Type.Number())),
    logprobs: maybe(Type.Boolean()),
    top_logprobs: maybe(Type.Integer({ minimum: 0, maximum: 20 })),
    tools: maybe(Type.Array(TOOL)),
    tool_choice: maybe(Type.Union([Type.String(), open({ type: maybe(Type.String()) })])),
    parallel_tool_calls: maybe(Type.Boolean()),
    functions: maybe(Type.Array(FUNCTION)),
    function_call: maybe(Type.Union([Type.String(), open({ name: Type.String() })])),
    response_format: maybe(
      open({
        type: Type.String(),
        json_schema: maybe(
          open({ name: maybe(Type.String()), schema: maybe(open({})), strict: maybe(Type.Boolean()) }),
        ),
      }),
    ),
    reasoning_effort: maybe(Type.String()),
    reasoning: maybe(open({})),
    verbosity: maybe(Type.String()),
    modalities: maybe(Type.Array(Type.String())),
    user: maybe(Type.String()),
    safety_identifier: maybe(Type.String()),
    metadata: maybe(open({})),
    prompt_cache_key: maybe(Type.String()),
    service_tier: maybe(Type.String()),
    store: maybe(Type.Boolean()),
    web_search_options: maybe(open({})),
  }),
)
