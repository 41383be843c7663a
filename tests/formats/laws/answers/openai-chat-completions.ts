import { Type } from '@sinclair/typebox'
import { anything, count, list, logprob, openaiTier, orNull, strict, text, word } from './shape.ts'

const chatLogprobs = orNull(
  strict({
    content: list(
      strict({ ...logprob, top_logprobs: list(strict(logprob, { bytes: anything })) }, { bytes: anything }),
    ),
    refusal: Type.Null(),
  }),
)
const chatUsage = strict({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: strict({ cached_tokens: count, audio_tokens: count }, { cache_write_tokens: count }),
  completion_tokens_details: strict({
    reasoning_tokens: count,
    audio_tokens: count,
    accepted_prediction_tokens: count,
    rejected_prediction_tokens: count,
  }),
})
const sealed = { extra_content: strict({ google: strict({ thought_signature: text }) }) }
const chatFinish = word('stop', 'length', 'tool_calls', 'content_filter', 'function_call')
const functionCall = strict({ name: text, arguments: text })
const chatExtras = {
  annotations: list(
    strict({
      type: word('url_citation'),
      url_citation: strict({ url: text, title: text, start_index: count, end_index: count }),
    }),
  ),
  reasoning_content: text,
  reasoning: text,
  reasoning_details: list(
    strict(
      {
        type: word('reasoning.text', 'reasoning.encrypted'),
        id: orNull(text),
        format: Type.Null(),
        index: count,
      },
      { text, signature: text, data: text },
    ),
  ),
  images: list(strict({ type: word('image_url'), image_url: strict({ url: text }), index: count }, sealed)),
  audio: strict({ id: text, data: text, transcript: text, expires_at: count }),
  ...sealed,
}
const chatHead = { id: text, created: count, model: text }
const chatTail = { usage: orNull(chatUsage), service_tier: openaiTier }

/** A whole answer, with what OpenRouter, DeepSeek and Google have beside OpenAI's fields. */
export const CHAT = strict(
  {
    ...chatHead,
    object: word('chat.completion'),
    choices: list(
      strict({
        index: count,
        message: strict(
          { role: word('assistant'), content: orNull(text), refusal: orNull(text) },
          {
            function_call: functionCall,
            tool_calls: list(
              Type.Union([
                strict({ id: text, type: word('function'), function: functionCall }, sealed),
                strict(
                  { id: text, type: word('custom'), custom: strict({ name: text, input: text }) },
                  sealed,
                ),
              ]),
            ),
            ...chatExtras,
          },
        ),
        logprobs: chatLogprobs,
        finish_reason: chatFinish,
      }),
    ),
  },
  chatTail,
)

/** A chunk of a stream. */
export const CHUNK = strict(
  {
    ...chatHead,
    object: word('chat.completion.chunk'),
    choices: list(
      strict({
        index: count,
        delta: strict(
          {},
          {
            role: word('assistant'),
            content: orNull(text),
            refusal: orNull(text),
            function_call: strict({ arguments: text }, { name: text }),
            tool_calls: list(
              strict(
                { index: count },
                {
                  id: text,
                  type: word('function', 'custom'),
                  function: strict({ arguments: text }, { name: text }),
                  custom: strict({ input: text }, { name: text }),
                  ...sealed,
                },
              ),
            ),
            ...chatExtras,
          },
        ),
        logprobs: chatLogprobs,
        finish_reason: orNull(chatFinish),
      }),
    ),
  },
  chatTail,
)
