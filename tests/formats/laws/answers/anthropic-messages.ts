import { type TProperties, Type } from '@sinclair/typebox'
import { anything, count, list, object, orNull, strict, text, word } from './shape.ts'

const toolUse = {
  type: word('tool_use'),
  id: Type.String({ pattern: '^[\\w-]+$' }),
  name: text,
  caller: strict({ type: word('direct') }),
}
const source = strict({
  type: word('web_search_result_location'),
  url: text,
  title: text,
  cited_text: text,
  encrypted_index: text,
})
const aText = strict({ type: word('text'), text, citations: list(source) })
const aThought = strict({ type: word('thinking'), thinking: text, signature: text })
const redacted = strict({ type: word('redacted_thinking'), data: text })
const deltaUsage = {
  input_tokens: orNull(count),
  cache_creation_input_tokens: orNull(count),
  cache_read_input_tokens: orNull(count),
  output_tokens: count,
  output_tokens_details: orNull(strict({ thinking_tokens: count })),
  server_tool_use: orNull(strict({ web_search_requests: count, web_fetch_requests: count })),
}
const cacheCreation = strict({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })
const stopped = {
  stop_reason: word(
    'end_turn',
    'max_tokens',
    'stop_sequence',
    'tool_use',
    'pause_turn',
    'refusal',
    'model_context_window_exceeded',
  ),
  stop_sequence: orNull(text),
  stop_details: orNull(
    strict({ type: word('refusal'), category: orNull(word('cyber', 'bio')), explanation: orNull(text) }),
  ),
  container: Type.Null(),
}
const head = {
  id: text,
  type: word('message'),
  role: word('assistant'),
  model: text,
  diagnostics: Type.Null(),
}
const messageUsage = strict({
  ...deltaUsage,
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  cache_creation: cacheCreation,
  service_tier: orNull(word('standard', 'priority', 'batch')),
  inference_geo: Type.Null(),
  speed: Type.Null(),
})

/** A whole answer. */
export const MESSAGE = strict({
  ...head,
  ...stopped,
  content: list(Type.Union([aText, aThought, redacted, strict({ ...toolUse, input: object })])),
  usage: messageUsage,
})

const nothing = Type.Literal('')
/** What the events of a stream have beside their type. */
export const MESSAGE_EVENTS: Record<string, TProperties> = {
  message_start: {
    message: strict({
      ...head,
      content: Type.Array(anything, { maxItems: 0 }),
      stop_reason: Type.Null(),
      stop_sequence: Type.Null(),
      stop_details: Type.Null(),
      container: Type.Null(),
      usage: messageUsage,
    }),
  },
  content_block_start: {
    index: count,
    content_block: Type.Union([
      strict({ type: word('text'), text: nothing, citations: Type.Array(anything, { maxItems: 0 }) }),
      strict({ type: word('thinking'), thinking: nothing, signature: nothing }),
      redacted,
      strict({ ...toolUse, input: strict({}) }),
    ]),
  },
  content_block_delta: {
    index: count,
    delta: Type.Union([
      strict({ type: word('text_delta'), text }),
      strict({ type: word('thinking_delta'), thinking: text }),
      strict({ type: word('signature_delta'), signature: text }),
      strict({ type: word('input_json_delta'), partial_json: text }),
      strict({ type: word('citations_delta'), citation: source }),
    ]),
  },
  content_block_stop: { index: count },
  message_delta: { delta: strict(stopped), usage: strict(deltaUsage, { cache_creation: cacheCreation }) },
  message_stop: {},
}
