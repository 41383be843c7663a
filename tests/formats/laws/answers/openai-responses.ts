import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { anything, count, list, logprob, object, openaiTier, orNull, strict, text, word } from './shape.ts'

const status = word('in_progress', 'completed', 'incomplete')
const listedBytes = { ...logprob, bytes: list(count) }
const logprobs = list(strict({ ...listedBytes, top_logprobs: list(strict(listedBytes)) }))
const annotation = strict({
  type: word('url_citation'),
  url: text,
  title: text,
  start_index: count,
  end_index: count,
})
const outputText = strict({ type: word('output_text'), text, annotations: list(annotation), logprobs })
const refusalPart = strict({ type: word('refusal'), refusal: text })
const summary = strict({ type: word('summary_text'), text })
const thoughtText = strict({ type: word('reasoning_text'), text })
const called = { id: text, call_id: text }

/** What stands in the output, by its type. */
export const ITEMS: Record<string, TSchema> = {
  message: strict({
    id: text,
    type: anything,
    status,
    role: word('assistant'),
    content: list(Type.Union([outputText, refusalPart])),
  }),
  reasoning: strict(
    { id: text, type: anything, status, summary: list(summary) },
    { content: list(thoughtText), encrypted_content: text },
  ),
  function_call: strict({ ...called, type: anything, status, name: text, arguments: text }),
  custom_tool_call: strict({ ...called, type: anything, status, name: text, input: text }),
  local_shell_call: strict({
    ...called,
    type: anything,
    status,
    action: Type.Object({ type: word('exec'), command: list(text), env: object }),
  }),
  shell_call: strict({
    ...called,
    type: anything,
    status,
    action: Type.Object({
      commands: list(text),
      timeout_ms: orNull(count),
      max_output_length: orNull(count),
    }),
    environment: Type.Null(),
  }),
  apply_patch_call: strict({
    ...called,
    type: anything,
    status: word('in_progress', 'completed'),
    operation: Type.Object({ diff: text }),
  }),
  tool_search_call: strict({
    ...called,
    type: anything,
    status,
    execution: word('client'),
    arguments: object,
  }),
  computer_call: strict({
    ...called,
    type: anything,
    status,
    action: object,
    pending_safety_checks: list(anything),
  }),
  image_generation_call: strict({
    id: text,
    type: anything,
    status,
    output_format: word('png', 'webp', 'jpeg'),
    result: orNull(text),
  }),
}

/** A whole answer but for its items. */
export const RESPONSE = strict(
  {
    id: text,
    object: word('response'),
    created_at: count,
    completed_at: orNull(count),
    status: word('in_progress', 'completed', 'incomplete', 'failed'),
    error: orNull(strict({ code: text, message: text })),
    incomplete_details: orNull(strict({ reason: word('max_output_tokens', 'content_filter') })),
    model: text,
    output: list(Type.Object({ type: word(...Object.keys(ITEMS)) })),
    usage: orNull(
      strict({
        input_tokens: count,
        input_tokens_details: strict(
          { cached_tokens: count, cache_write_tokens: count },
          { cache_write_tokens_details: strict({ ttl_30m_tokens: count, ttl_12h_tokens: count }) },
        ),
        output_tokens: count,
        output_tokens_details: strict({ reasoning_tokens: count }),
        total_tokens: count,
      }),
    ),
    service_tier: openaiTier,
    instructions: Type.Null(),
    metadata: object,
    parallel_tool_calls: Type.Boolean(),
    temperature: Type.Number(),
    top_p: Type.Number(),
    tool_choice: text,
    tools: list(object),
    text: Type.Object({ format: object, verbosity: text }),
    reasoning: strict({ effort: orNull(text), summary: orNull(text) }),
    truncation: word('disabled'),
    store: Type.Boolean(),
    background: Type.Boolean(),
    top_logprobs: count,
    frequency_penalty: count,
    presence_penalty: count,
    access_programs: Type.Null(),
    max_output_tokens: Type.Null(),
    max_tool_calls: Type.Null(),
    previous_response_id: Type.Null(),
    prompt_cache_key: Type.Null(),
    prompt_cache_retention: Type.Null(),
    safety_identifier: Type.Null(),
    user: Type.Null(),
  },
  { tool_usage: strict({ image_gen: object, web_search: strict({ num_requests: count }) }) },
)

const inItem = { item_id: text, output_index: count }
const inPart = { ...inItem, content_index: count }
const inSummary = { ...inItem, summary_index: count }
const anItem = { output_index: count, item: object }
const aPart = { ...inPart, part: Type.Union([outputText, refusalPart, thoughtText]) }
/** What the events of a stream have beside their type and number. */
export const RESPONSE_EVENTS: Record<string, TProperties> = {
  'response.created': { response: RESPONSE },
  'response.in_progress': { response: RESPONSE },
  'response.completed': { response: RESPONSE },
  'response.incomplete': { response: RESPONSE },
  'response.output_item.added': anItem,
  'response.output_item.done': anItem,
  'response.content_part.added': aPart,
  'response.content_part.done': aPart,
  'response.output_text.delta': { ...inPart, delta: text, logprobs },
  'response.output_text.done': { ...inPart, text, logprobs },
  'response.output_text.annotation.added': { ...inPart, annotation_index: count, annotation },
  'response.refusal.delta': { ...inPart, delta: text },
  'response.refusal.done': { ...inPart, refusal: text },
  'response.reasoning_text.delta': { ...inPart, delta: text },
  'response.reasoning_text.done': { ...inPart, text },
  'response.reasoning_summary_part.added': { ...inSummary, part: summary },
  'response.reasoning_summary_part.done': { ...inSummary, part: summary },
  'response.reasoning_summary_text.delta': { ...inSummary, delta: text },
  'response.reasoning_summary_text.done': { ...inSummary, text },
  'response.function_call_arguments.delta': { ...inItem, delta: text },
  'response.function_call_arguments.done': { ...inItem, name: text, arguments: text },
  'response.custom_tool_call_input.delta': { ...inItem, delta: text },
  'response.custom_tool_call_input.done': { ...inItem, input: text },
}
