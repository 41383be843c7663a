import { expect, test } from 'bun:test'
import { decodeContext } from '#tests/transcripts/conversion.ts'
import { recording, recordings } from '#tests/transcripts/recording.ts'
import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import { collect } from '@/generation/collect.ts'
import { asObject } from '@/json/json.ts'
import { errorOf, eventsOf, replyContext, written } from './fixtures.ts'
import { accumulate } from './sdk.ts'

const FORMAT = 'anthropic-messages'

test.each(recordings(FORMAT).map(recorded => [recorded.name, recorded] as const))(
  'the official SDK reads the written stream of %s as the written answer',
  async (_name, { request, response, stream }) => {
    if (response === undefined) return
    const asked = anthropicMessages.decodeRequest(request, { model: String(request['model']), stream: true })
    const context = replyContext(asked)
    const whole = anthropicMessages.decodeResponse(response, decodeContext(FORMAT))
    const { content, stop_reason, stop_sequence, usage } = anthropicMessages.encodeResponse(whole, context)
    const message = await accumulate(written(eventsOf(stream.toString()), context))
    expect<unknown>(message).toMatchObject({ stop_reason, stop_sequence })
    expect<unknown>(message.content).toEqual(content)
    const { input_tokens, output_tokens } = asObject(usage) ?? {}
    expect<unknown>(message.usage).toMatchObject({ input_tokens, output_tokens })
  },
)

test('an error in the middle ends the answer and tells what came before', () => {
  const events = eventsOf(recording(FORMAT, 'error-midstream').stream.toString())
  expect(errorOf(events)?.message).toContain('Overloaded')
  expect(collect(events).candidates[0]?.parts).toMatchObject([{ type: 'text', text: 'Once upon a' }])
  expect(events.findLast(event => event.type === 'usage')?.usage.inputUncached).toBe(12)
})
