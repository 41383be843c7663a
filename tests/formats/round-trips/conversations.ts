import fc from 'fast-check'
import { call, result } from '#tests/formats/parts.ts'
import {
  mediaPart,
  type Part,
  reasoningPart,
  type ToolCallPart,
  type ToolResultPart,
  textPart,
} from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import type { FunctionTool, ToolChoice } from '@/generation/tool.ts'

/** Words with everything in them that a format might trip over, and never only white space. */
export const words: fc.Arbitrary<string> = fc
  .tuple(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom(
      '',
      '\n',
      '"\\',
      '\u2028',
      '</think>',
      'data: [DONE]',
      '\ud83d\udc4b\ud83c\udffd',
      '\0',
      '{}',
    ),
  )
  .map(([text, odd]) => `x${text}${odd}y`)

const number = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom('12345678901234567890', '-0', '1e400', '0.10', '1E+2', '9007199254740993', '1.0'),
)

/** JSON text with numbers that a double cannot hold. */
const { value: jsonText } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 2 },
    number,
    fc.string({ unit: 'grapheme', maxLength: 6 }).map(text => JSON.stringify(text)),
    fc.constantFrom('true', 'null', '"\\ud800"'),
    fc.array(tie('value'), { maxLength: 2 }).map(items => `[${items.join(',')}]`),
    fc.dictionary(fc.string({ maxLength: 3 }), tie('value'), { maxKeys: 2 }).map(objectText),
  ),
}))

/** The arguments of a call. */
export const argumentsText: fc.Arbitrary<string> = fc
  .dictionary(fc.constantFrom('a', 'city', '__proto__', 'é'), jsonText, { maxKeys: 3 })
  .map(objectText)

function objectText(entries: Record<string, string>): string {
  return `{${Object.entries(entries)
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`)
    .join(',')}}`
}

const IMAGE = { kind: 'image', mediaType: 'image/png' } as const
const DOCUMENT = { kind: 'document', mediaType: 'application/pdf' } as const
const media = (known: typeof IMAGE | typeof DOCUMENT) =>
  mediaPart({ ...known, source: { type: 'base64', data: 'iVBORw0KGgo=' } })

const userPart: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: words.map(textPart) },
  { weight: 1, arbitrary: fc.constantFrom(media(IMAGE), media(DOCUMENT)) },
)

const NAMES = ['get_weather', 'now', 'search'] as const

interface Exchange {
  call: ToolCallPart
  result: ToolResultPart
}

/** A call and its result; the id is set when the calls of the whole talk are counted. */
const exchange: fc.Arbitrary<Exchange> = fc
  .record({ name: fc.constantFrom(...NAMES), input: argumentsText, text: words, isError: fc.boolean() })
  .map(({ name, input, text, isError }) => ({
    call: call('', { name, input }),
    result: result('', text, { isError }),
  }))

const reasoning: fc.Arbitrary<Part> = words.map(text => reasoningPart({ texts: [text] }))

/** One round of the talk: the user speaks, the model thinks, speaks and calls, the results come back. */
const round = fc.record({
  system: fc.option(words, { nil: undefined, freq: 4 }),
  user: fc.array(userPart, { minLength: 1, maxLength: 3 }),
  reasoning: fc.option(reasoning, { nil: undefined }),
  said: fc.option(fc.tuple(fc.boolean(), words), { nil: undefined }),
  calls: fc.array(exchange, { maxLength: 3 }),
})

const turns: fc.Arbitrary<Turn[]> = fc
  .tuple(fc.array(round, { maxLength: 3 }), words, fc.constantFrom('call_', 'call:', 'c.'))
  .map(([rounds, last, prefix]) => {
    let count = 0
    const talk = rounds.flatMap(({ system, user, reasoning, said, calls }): Turn[] => {
      const named = calls.map(({ call, result }) => {
        count += 1
        const callId = `${prefix}${count}`
        return { call: { ...call, callId }, result: { ...result, callId } }
      })
      const answer: Part[] = [
        ...(reasoning === undefined ? [] : [reasoning]),
        ...(said === undefined
          ? []
          : [said[0] ? textPart(said[1]) : ({ type: 'refusal', text: said[1] } as const)]),
        ...named.map(({ call }) => call),
      ]
      return [
        { role: 'user', parts: user },
        ...(system === undefined ? [] : [{ role: 'system' as const, parts: [textPart(system)] }]),
        ...(answer.length === 0 ? [] : [{ role: 'assistant' as const, parts: answer }]),
        ...(named.length === 0 ? [] : [{ role: 'user' as const, parts: named.map(({ result }) => result) }]),
      ]
    })
    return [...talk, { role: 'user', parts: [textPart(last)] }]
  })

const tools: readonly FunctionTool[] = NAMES.map(name => ({
  type: 'function',
  name,
  namespace: undefined,
  description: `The ${name} tool`,
  parameters:
    name === 'now'
      ? undefined
      : {
          type: 'object',
          properties: { city: { type: 'string', description: 'é' }, a: { type: ['integer', 'null'] } },
          required: ['city'],
          additionalProperties: false,
        },
  strict: undefined,
  cache: undefined,
}))

const toolChoice: fc.Arbitrary<ToolChoice | undefined> = fc.constantFrom<(ToolChoice | undefined)[]>(
  undefined,
  { type: 'auto' },
  { type: 'none' },
  { type: 'required' },
  { type: 'tool', name: 'search', namespace: undefined, kind: 'function' },
)

function maybe<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined })
}

/** A request of whatever the four formats have in common, and some of what they have not. */
export const conversation: fc.Arbitrary<GenerationRequest> = fc.record({
  model: fc.constant('m'),
  stream: fc.boolean(),
  instructions: fc.array(words.map(textPart), { maxLength: 2 }),
  turns,
  tools: fc.constant(tools),
  toolChoice,
  parallelToolCalls: maybe(fc.boolean()),
  output: maybe(
    fc.constant({
      type: 'json-schema' as const,
      name: undefined,
      description: undefined,
      schema: {
        type: 'object',
        properties: { name: { type: 'string' } },
        required: ['name'],
        additionalProperties: false,
      },
      strict: undefined,
    }),
  ),
  verbosity: maybe(fc.constantFrom('low' as const, 'high' as const)),
  reasoning: fc.constant(undefined),
  maxOutputTokens: maybe(fc.integer({ min: 16, max: 4000 })),
  temperature: maybe(fc.constantFrom(0, 0.5, 1)),
  topP: maybe(fc.constantFrom(0.5, 0.95)),
  topK: maybe(fc.integer({ min: 1, max: 50 })),
  stop: fc.array(fc.constantFrom('END', '\n\n'), { maxLength: 2 }),
  seed: maybe(fc.integer()),
  presencePenalty: maybe(fc.constantFrom(0.5, -1)),
  frequencyPenalty: maybe(fc.constantFrom(0.5, -1)),
  logitBias: maybe(fc.constant({ '50256': -100 })),
  logprobs: maybe(fc.constant({ top: 2 })),
  candidates: fc.constant(undefined),
  modalities: fc.constant([]),
  user: maybe(words),
  metadata: maybe(fc.constant({ topic: 'weather' })),
  promptCacheKey: maybe(fc.constant('docs')),
  serviceTier: fc.constant(undefined),
  store: fc.constant(undefined),
  extensions: fc.constant({}),
  unread: fc.constant([]),
})
