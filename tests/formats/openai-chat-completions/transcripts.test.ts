import { expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { recordings } from '#tests/transcripts/recording.ts'
import { openaiChatCompletions } from '@/formats/openai-chat-completions/codec.ts'
import { collect } from '@/generation/collect.ts'
import { asArray, asObject } from '@/json/json.ts'
import { decodeBytes, encodeEvents, replyContext } from './fixtures.ts'

test.each(recordings('openai-chat-completions').map(recorded => [recorded.name, recorded] as const))(
  "OpenAI's SDK puts the written stream of %s together to the same message as the whole answer",
  async (_name, { response, stream, request }) => {
    if (response === undefined || 'functions' in request) return
    const events = decodeBytes([stream])
    const whole = openaiChatCompletions.encodeResponse(collect(events), replyContext(request))
    const fetch = async () =>
      new Response(encodeEvents(events, request), { headers: { 'content-type': 'text/event-stream' } })
    const client = new OpenAI({ apiKey: 'k', baseURL: 'http://127.0.0.1/v1', fetch, maxRetries: 0 })
    const params: ChatCompletionCreateParamsStreaming = { model: 'm', stream: true, messages: [] }
    const final = await client.chat.completions.stream(params).finalChatCompletion()
    for (const [index, choice] of asArray(whole['choices']).entries()) {
      const message = asObject(asObject(choice)?.['message'])
      const read = final.choices[index]
      expect<unknown>(read?.message.content || null).toEqual(message?.['content'] || null)
      expect<unknown>(read?.message.refusal ?? null).toEqual(message?.['refusal'] ?? null)
      expect<unknown>(read?.finish_reason).toEqual(asObject(choice)?.['finish_reason'])
      const calls = read?.message.tool_calls ?? []
      expect<unknown>(calls.map(call => call.id)).toEqual(
        asArray(message?.['tool_calls']).map(call => asObject(call)?.['id']),
      )
    }
  },
)
