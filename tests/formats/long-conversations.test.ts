import { describe, expect, test } from 'bun:test'
import { least, userMsOf } from '#tests/support/least.ts'
import { FULL_REPLY } from '#tests/transcripts/conversion.ts'
import { decodeBody } from '@/exchange/admission/prompt.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import type { JsonObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'

const TURNS = 10_000

/** Ten thousand calls in turns of `perTurn`, each answered in the next message where it `isAnswered`. */
function calls(idOf: (index: number) => string, perTurn: number, isAnswered: boolean): JsonObject {
  const messages: JsonObject[] = []
  for (let turn = 0; turn < TURNS / perTurn; turn += 1) {
    const ids = Array.from({ length: perTurn }, (_, index) => idOf(turn * perTurn + index))
    const made = ids.map(id => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }))
    messages.push({ role: 'assistant', content: null, tool_calls: made })
    if (isAnswered) messages.push(...ids.map(id => ({ role: 'tool', tool_call_id: id, content: 'r' })))
    else messages.push({ role: 'user', content: 'go on' })
  }
  return { messages }
}

/** The same in Gemini's words, all in one turn and without ids. */
function namedCalls(nameOf: (index: number) => string): JsonObject {
  const names = Array.from({ length: TURNS }, (_, index) => nameOf(index))
  const made = names.map(name => ({ functionCall: { name, args: {} } }))
  const results = names.toReversed().map(name => ({ functionResponse: { name, response: {} } }))
  const contents = [
    { role: 'model', parts: made },
    { role: 'user', parts: results },
  ]
  return { contents }
}

const CHAT = 'openai-chat-completions'
const GEMINI = 'gemini-generate-content'

const CONVERSATIONS: [string, Format, JsonObject][] = [
  ['a call a turn', CHAT, calls(index => `call_${index}`, 1, true)],
  ['a call a turn, none answered', CHAT, calls(index => `call_${index}`, 1, false)],
  ['a call a turn, all of one id', CHAT, calls(() => 'call_0', 1, true)],
  ['all calls in one turn', CHAT, calls(index => `call_${index}`, TURNS, true)],
  ['all calls in one turn, all of one id', CHAT, calls(() => 'call_0', TURNS, true)],
  [
    'only the assistant speaks',
    CHAT,
    { messages: Array.from({ length: 3 * TURNS }, () => ({ role: 'assistant', content: 'x' })) },
  ],
  ['named calls', GEMINI, namedCalls(index => `f${index}`)],
  ['named calls, all of one name', GEMINI, namedCalls(() => 'f')],
  [
    'a turn of many texts',
    GEMINI,
    { contents: [{ role: 'user', parts: Array.from({ length: 10 * TURNS }, () => ({ text: 'x' })) }] },
  ],
]

const NAMES = Array.from({ length: 2 * TURNS }, (_, index) => ({
  type: 'function',
  function: { name: `f${index}` },
}))

describe.each<[string, Format, JsonObject]>([
  ...CONVERSATIONS,
  [
    'a choice among many tools',
    CHAT,
    {
      messages: [{ role: 'user', content: 'x' }],
      tools: NAMES,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: NAMES.toReversed() },
      },
    },
  ],
  [
    'things that nobody knows, each of another kind',
    'openai-responses',
    { input: Array.from({ length: 4 * TURNS }, (_, index) => ({ type: `thing_${index}` })) },
  ],
])('a long conversation: %s', (_, from, body) => {
  test.each(FORMATS)(
    'is written for %s in a time that grows with its length alone',
    async to => {
      const write = () =>
        lowerRequest(
          decodeBody({ model: 'm', ...body }, from, { model: 'm', stream: false }),
          CODECS[to],
          { model: 'm', vendor: 'v', maxOutputTokens: undefined },
          { functionToolsOnly: false, thinkTags: undefined },
        )
      // Measured on Bun 1.4.5: at most 300 ms; where each part looks at all others it took 5 to 40 s.
      expect(await least(2500, () => userMsOf(write))).toBeLessThan(2500)
    },
    120_000,
  )
})

describe('a long answer', () => {
  const BLOCKS = Array.from({ length: 4 * TURNS }, (_, index) => index)
  const chunk = (choice: JsonObject): SseEvent => ({
    event: undefined,
    data: JSON.stringify({ choices: [{ index: 0, ...choice }] }),
  })
  const END = chunk({ delta: {}, finish_reason: 'stop' })

  test.each<[string, (index: number) => JsonObject]>([
    ['and an index', index => ({ index, id: `call_${index}` })],
    ['alone', index => ({ id: `call_${index}` })],
  ])(
    'of many calls with an id %s is read in a time that grows with its length alone',
    async (_, place) => {
      const body = { name: 'f', arguments: '{}' }
      const events = BLOCKS.map(index =>
        chunk({ delta: { tool_calls: [{ ...place(index), function: body }] } }),
      )
      let ended = 0
      const read = () => {
        const decoder = CODECS[CHAT].createStreamDecoder({ vendor: 'v', newId: () => 'id' })
        ended = runMachine(decoder, [...events, END]).filter(({ type }) => type === 'tool-input-end').length
      }
      // Measured on Bun 1.4.5: 200 ms; where each call was looked for among all others it took 8 s.
      expect(await least(2500, () => userMsOf(read))).toBeLessThan(2500)
      expect(ended).toBe(BLOCKS.length)
    },
    120_000,
  )

  test('whose call is named behind all of its input is read in a time that grows with its length alone', async () => {
    const call = (body: JsonObject) => chunk({ delta: { tool_calls: [{ index: 0, function: body }] } })
    const events = [
      call({ arguments: '{"a":"' }),
      ...BLOCKS.map(() => call({ arguments: 'x'.repeat(100) })),
      call({ name: 'f', arguments: '"}' }),
      END,
    ]
    let told = ''
    const read = () => {
      const decoder = CODECS[CHAT].createStreamDecoder({ vendor: 'v', newId: () => 'id' })
      const deltas = runMachine(decoder, events).filter(event => event.type === 'tool-input-delta')
      told = deltas.map(({ text }) => text).join('')
    }
    // Measured on Bun 1.4.5: 60 ms; where each piece was looked at with all before it, it took 7 s.
    expect(await least(2500, () => userMsOf(read))).toBeLessThan(2500)
    expect(JSON.parse(told)).toEqual({ a: 'x'.repeat(100 * BLOCKS.length) })
  }, 120_000)

  test('of many texts is written for Responses in a time that grows with its length alone', async () => {
    const events = BLOCKS.flatMap((block): GenerationEvent[] => [
      { type: 'text-start', block, candidate: 0 },
      { type: 'text-delta', block, text: 'x' },
      { type: 'text-end', block, signature: undefined },
    ])
    const write = () => runMachine(CODECS['openai-responses'].createStreamEncoder(FULL_REPLY), events)
    expect(await least(2500, () => userMsOf(write))).toBeLessThan(2500)
  }, 120_000)
})

test.each<[string, JsonObject]>([
  [
    'data that ends in signs of its end',
    { inlineData: { mimeType: 'image/png', data: `${'='.repeat(1e6)}-` } },
  ],
  ['an address of many ends', { fileData: { fileUri: `https://a/${'.a?'.repeat(5e5)}\n` } }],
])('%s is read once', async (_, part) => {
  const body = { contents: [{ role: 'user', parts: [part] }] }
  const read = () => decodeBody(body, GEMINI, { model: 'm', stream: false })
  expect(await least(1000, () => userMsOf(read))).toBeLessThan(1000)
})
