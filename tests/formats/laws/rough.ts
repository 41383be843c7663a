import fc from 'fast-check'
import { EMPTY_REQUEST } from '#tests/formats/empty-request.ts'
import { call, functionTool, result } from '#tests/formats/parts.ts'
import { mediaPart, type Part, reasoningPart, type Signature, textPart } from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'

const text = fc.constantFrom('a', 'b \n', '', ' \n')
const id = fc.constantFrom('1', '2', 'c:3', '')
const name = fc.constantFrom('f', 'a.b', 'é', '1st')

/** A PNG by another type's name. */
const image = mediaPart({
  kind: 'image',
  mediaType: 'image/jpeg',
  source: { type: 'base64', data: 'iVBORw0KGgo=' },
})
const note = mediaPart({ kind: 'document', source: { type: 'text', text: 'n' }, title: '', filename: '' })
/** A part that only another format knows. */
const foreign: Part = { type: 'opaque', format: 'openai-responses', name: 'mcp_call', value: {} }

const said: fc.Arbitrary<Part> = fc.oneof(
  text.map(textPart),
  text.map(text => ({ type: 'refusal', text }) as const),
  fc.constantFrom(image, foreign),
)

const heard: fc.Arbitrary<Part> = fc.oneof(
  text.map(textPart),
  fc.constantFrom(image, note, foreign),
  fc
    .record({
      id,
      content: fc.array(fc.oneof(text.map(textPart), fc.constantFrom(image, note)), { maxLength: 2 }),
      isError: fc.boolean(),
    })
    .map(({ id, content, isError }) => result(id, content, { isError })),
)

/** Thoughts of the upstream that gets them, of another vendor, or of nobody. */
function thought(own: Signature): fc.Arbitrary<Part> {
  return fc
    .record({
      texts: fc.constantFrom(['hm'], []),
      redacted: fc.boolean(),
      signature: fc.constantFrom(own, own, { ...own, vendor: 'x.example' }, undefined),
    })
    .map(reasoningPart)
}

function turn(own: Signature): fc.Arbitrary<Turn> {
  const input = fc.constantFrom('{}', '', '[1]', '{"a":')
  const called = fc.record({ id, name, input }).map(({ id, name, input }) => call(id, { name, input }))
  const answered = fc.oneof(said, thought(own), called, called)
  const parts = (part: fc.Arbitrary<Part>) => fc.array(part, { maxLength: 3 })
  return fc.oneof(
    { weight: 3, arbitrary: parts(heard).map((parts): Turn => ({ role: 'user', parts })) },
    { weight: 3, arbitrary: parts(answered).map((parts): Turn => ({ role: 'assistant', parts })) },
    text.map((text): Turn => ({ role: 'system', parts: [textPart(text)] })),
  )
}

const words = { type: 'object', properties: { a: { type: 'string' } } }
const tools = [
  functionTool('f', { parameters: words }),
  functionTool('a.b', { parameters: { anyOf: [words, { properties: { b: { type: 'array' } } }] } }),
  functionTool('é', { parameters: { $ref: '#/$defs/w', $defs: { w: words } } }),
  functionTool('1st'),
  functionTool('none'),
]

const asks = { effort: undefined, budgetTokens: undefined, summary: undefined }

/**
 * Requests as callers write them and no vendor takes them: turns that say nothing, in any order, results without their
 * call or twice, calls without a result, answers that were broken off, names and ids of another vendor.
 */
export function roughRequest(own: Signature): fc.Arbitrary<GenerationRequest> {
  return fc
    .record({
      instructions: fc.array(text.map(textPart), { maxLength: 2 }),
      turns: fc.array(turn(own), { maxLength: 7 }),
      tools: fc.constantFrom(tools, []),
      toolChoice: fc.constantFrom(undefined, { type: 'required' } as const),
      reasoning: fc.constantFrom(
        undefined,
        { ...asks, effort: 'low' } as const,
        { ...asks, budgetTokens: 2000 },
        { ...asks, effort: 'none' } as const,
      ),
      temperature: fc.constantFrom(undefined, 1.5),
      topP: fc.constantFrom(undefined, 0.5),
      maxOutputTokens: fc.constantFrom(undefined, 1, 1500),
    })
    .map(asked => ({ ...EMPTY_REQUEST, ...asked }))
}
