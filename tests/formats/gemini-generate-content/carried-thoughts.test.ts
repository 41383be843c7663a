import { describe, expect, test } from 'bun:test'
import { call } from '#tests/formats/parts.ts'
import { runMachine } from '@/generation/machine.ts'
import { type Part, reasoningPart, type Signature, textPart } from '@/generation/part.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import { asArray, asObject, isJsonObject, type JsonObject, parseObject } from '@/json/json.ts'
import { CALL, codec, generationRequest, replyContext } from './fixtures.ts'

const thought = (text: string, signature: Signature, redacted = false) =>
  reasoningPart({ texts: text === '' ? [] : [text], redacted, signature })

function signed(value: string, format: Signature['format'] = 'anthropic-messages'): Signature {
  return { format, vendor: 'somebody', value }
}

const SHOWN = generationRequest({
  reasoning: { effort: undefined, budgetTokens: undefined, summary: 'auto' },
})
const HIDDEN = generationRequest({ reasoning: undefined })

function response(parts: Part[]): GenerationResponse {
  const finish = { reason: 'tool-calls', stopSequence: undefined, message: undefined } as const
  const candidates = [{ index: 0, parts, finish, logprobs: [] }]
  return { id: undefined, model: undefined, candidates, usage: undefined, serviceTier: undefined }
}

/** The parts of an answer as a caller collects them, whole or from a stream. */
function answered(parts: Part[], asked: typeof SHOWN, how: 'whole' | 'streamed'): JsonObject[] {
  const context = replyContext(asked)
  const given = response(parts)
  const stream = () => runMachine(codec.createStreamEncoder(context), replay(given)).join('')
  const replies =
    how === 'whole'
      ? [codec.encodeResponse(given, context)]
      : stream()
          .split('\r\n\r\n')
          .map(event => parseObject(event.replace('data: ', '')))
          .filter(isJsonObject)
  return replies.flatMap(reply => partsOf(asObject(asArray(reply['candidates'])[0])))
}

function partsOf(candidate: JsonObject | undefined): JsonObject[] {
  return asArray(asObject(candidate?.['content'])?.['parts']).filter(isJsonObject)
}

/** What the gateway understands when the caller sends these parts back. */
function understood(parts: JsonObject[]): readonly Part[] {
  const contents = [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts },
  ]
  return codec.decodeRequest({ contents }, CALL).turns[1]?.parts ?? []
}

const ANSWERS: [string, Part[]][] = [
  ['a thought, then a call', [thought('Let me see.', signed('EqQB')), call('a')]],
  ['a thought, a text, then calls', [thought('Hm.', signed('EqQB')), textPart('Well'), call('a'), call('b')]],
  ['thoughts between calls', [thought('1', signed('A')), call('a'), thought('2', signed('B')), call('b')]],
  [
    'a redacted thought, then one that is shown',
    [thought('', signed('A'), true), thought('2', signed('B')), textPart('Well'), call('a')],
  ],
  [
    'a thought that was not shown, then one that is',
    [thought('', signed('A')), thought('2', signed('B')), call('a')],
  ],
  ['a thought that was not shown', [thought('', signed('EqQB')), call('a')]],
  ['a thought whose signature holds it', [thought('Sum.', signed('gAAA', 'openai-responses')), call('a')]],
]

describe.each(['whole', 'streamed'] as const)('thoughts that another vendor signed, %s', how => {
  test.each(ANSWERS)('%s: come back from a client that drops thoughts (Gemini CLI)', (_name, parts) => {
    const kept = answered(parts, SHOWN, how).filter(part => part['thought'] !== true)
    expect(understood(kept)).toMatchObject(parts.map(essence))
  })

  test.each(ANSWERS)('%s: come back once from a client that keeps all', (_name, parts) => {
    expect(understood(answered(parts, SHOWN, how))).toMatchObject(parts.map(essence))
  })

  test.each(ANSWERS)(
    '%s: come back once from a client that keeps their text alone (ADK for TypeScript)',
    (_name, parts) => {
      const kept = answered(parts, SHOWN, how).map(part =>
        part['thought'] === true ? { ...part, thoughtSignature: undefined } : part,
      )
      expect(understood(kept)).toMatchObject(parts.map(essence))
    },
  )

  test('come back when the caller did not ask to see them, and are not shown', () => {
    const parts = [thought('Secret.', signed('EqQB')), textPart('Well'), call('a')]
    const wire = answered(parts, HIDDEN, how)
    expect(JSON.stringify(wire)).not.toContain('Secret.')
    expect(understood(wire)).toMatchObject(parts.map(essence))
  })

  test('come back with the redacted one among them', () => {
    const parts = [thought('1', signed('A')), thought('', signed('B'), true), call('a')]
    expect(understood(answered(parts, HIDDEN, how))).toMatchObject(parts.map(essence))
  })

  test('are not carried where nobody signed them', () => {
    const unsigned = reasoningPart({ texts: ['Hm.'] })
    expect(JSON.stringify(answered([unsigned, call('a')], SHOWN, how))).not.toContain('thoughtSignature')
  })
})

function essence(part: Part): object {
  switch (part.type) {
    case 'reasoning':
      return { type: part.type, texts: part.texts, redacted: part.redacted, signature: part.signature }
    case 'tool-call':
      return { type: part.type, callId: part.callId, signature: undefined }
    default:
      return { type: part.type }
  }
}
