import fc from 'fast-check'
import { call } from '#tests/formats/parts.ts'
import type { Format } from '@/generation/format.ts'
import { type Citation, mediaPart, type Part, reasoningPart, textPart } from '@/generation/part.ts'
import { type Candidate, type GenerationResponse, STOP_REASONS } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import type { JsonObject } from '@/json/json.ts'

/** Bodies of callers, of whom some see more of an answer than others. */
export const WIRES: Record<Format, readonly JsonObject[]> = {
  'openai-chat-completions': [
    { messages: [{ role: 'user', content: 'q' }], n: 2, stream_options: { include_usage: true } },
    { messages: [{ role: 'user', content: 'q' }], functions: [{ name: 'f' }] },
    { messages: [{ role: 'user', content: 'q' }], reasoning: { effort: 'low' }, usage: { include: true } },
  ],
  'openai-responses': [
    { input: 'q', metadata: { a: 'b' }, text: { verbosity: 'low' }, temperature: null },
    { input: 'q', reasoning: { effort: 'low', summary: 'auto' }, tools: [{ type: 'function', name: 'f' }] },
  ],
  'anthropic-messages': [
    { max_tokens: 9, messages: [{ role: 'user', content: 'q' }] },
    {
      max_tokens: 9,
      messages: [{ role: 'user', content: 'q' }],
      thinking: { type: 'adaptive', display: 'omitted' },
    },
  ],
  'gemini-generate-content': [
    { contents: [{ parts: [{ text: 'q' }] }] },
    {
      contents: [{ parts: [{ text: 'q' }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    },
  ],
}

const text = fc.constantFrom('', ' ', 'Hello\n', '👩‍🚀 "é" {', 'x')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

const signature = maybe(
  fc.constantFrom(
    ...(['anthropic-messages', 'gemini-generate-content', 'openai-responses'] as const).map(format => ({
      format,
      vendor: 'somebody',
      value: 'c2ln',
    })),
  ),
)

const citation: fc.Arbitrary<Citation> = fc.record({
  url: maybe(fc.constant('https://a.example')),
  title: maybe(fc.constant('A')),
  citedText: maybe(fc.constant('c')),
  start: maybe(fc.constant(0)),
  end: maybe(fc.constant(1)),
  wire: fc.constant(undefined),
})

const KINDS = [
  'function',
  'custom',
  'local_shell',
  'shell',
  'apply_patch',
  'tool_search',
  'computer',
] as const
/** Whole ones, and what a model may write where an object should be. */
const INPUTS = ['', '{}', '{"a":[1,null]}', '[1]', 'not json', '{"type":"create_file","path":"p"}'] as const

const part: fc.Arbitrary<Part> = fc.oneof(
  fc
    .record({ text, citations: fc.array(citation, { maxLength: 2 }), signature })
    .map(fields => ({ ...textPart(''), ...fields })),
  fc
    .record({ texts: fc.array(text, { maxLength: 2 }), raw: fc.boolean(), redacted: fc.boolean(), signature })
    .map(reasoningPart),
  fc
    .record({ kind: fc.constantFrom(...KINDS), input: fc.constantFrom(...INPUTS), signature })
    .map(fields => call('', fields)),
  text.map(refusal => ({ type: 'refusal' as const, text: refusal })),
  fc.constantFrom(
    mediaPart({ kind: 'image', mediaType: 'image/webp', source: { type: 'base64', data: 'aGk=' } }),
    mediaPart({ kind: 'image', source: { type: 'url', url: 'https://a.example/i.png' } }),
    mediaPart({ kind: 'audio', mediaType: 'audio/wav', source: { type: 'base64', data: 'aGk=' } }),
    mediaPart({ kind: 'video', source: { type: 'url', url: 'https://a.example/v.mp4' } }),
  ),
)

const parts = fc
  .array(part, { maxLength: 5 })
  .map(drawn => drawn.map((one, at) => (one.type === 'tool-call' ? { ...one, callId: `call_${at}` } : one)))

const candidate = fc.record({
  parts,
  finish: fc.record({
    reason: fc.constantFrom(...STOP_REASONS),
    stopSequence: maybe(fc.constant('###')),
    message: maybe(fc.constantFrom('because', 'cyber: No.')),
  }),
  logprobs: fc.constantFrom<JsonObject[]>(
    [],
    [{ token: 'é', logprob: -0.5, top_logprobs: [{ token: 'e', logprob: -2 }] }],
  ),
})

const count = fc.nat(9)
const usage: fc.Arbitrary<Usage> = fc.record({
  inputUncached: count,
  cacheRead: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
  outputText: count,
  reasoning: count,
  audioInput: count,
  audioOutput: count,
  serverTools: fc.constantFrom({}, { web_search: 2 }),
})

/** An answer of any vendor, with whatever one may leave out or say in its own way. */
export const anyAnswer: fc.Arbitrary<GenerationResponse> = fc.record({
  id: fc.constant('up'),
  model: fc.constant('up'),
  candidates: fc
    .array(candidate, { minLength: 1, maxLength: 2 })
    .map((drawn): Candidate[] => drawn.map((one, index) => ({ ...one, index }))),
  usage: maybe(usage),
  serviceTier: maybe(fc.constantFrom('default', 'standard', 'priority', 'flex', 'batch', 'on_demand')),
})
