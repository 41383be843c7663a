import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { anthropicMessages } from '@/formats/anthropic-messages/codec.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { asArray, asNumber, asObject, asObjects, asString, type JsonObject } from '@/json/json.ts'
import { roughRequest } from './rough.ts'

/** What Anthropic says of a model. https://platform.claude.com/docs/en/about-claude/models/overview */
interface Known {
  thinks: 'enabled' | 'adaptive'
  /** Takes a conversation that ends in the assistant's words. */
  prefill: boolean
  /** Takes system messages in the conversation. */
  system: boolean
  forced: boolean
}

const MODELS: readonly (readonly [string, Known])[] = [
  ['claude-sonnet-4-5', { thinks: 'enabled', prefill: true, system: false, forced: true }],
  ['claude-opus-4-6', { thinks: 'adaptive', prefill: false, system: false, forced: true }],
  ['claude-opus-4-8', { thinks: 'adaptive', prefill: false, system: true, forced: true }],
  ['claude-opus-5-5', { thinks: 'adaptive', prefill: false, system: true, forced: false }],
]

const OWN = { format: 'anthropic-messages', vendor: 'anthropic', value: 'U0lH' } as const

test.each(MODELS)('what %s is sent for a rough request is a request that Anthropic takes', (model, known) => {
  const target = { model, vendor: OWN.vendor, maxOutputTokens: undefined }
  fc.assert(
    fc.property(roughRequest(OWN), request => {
      const { body } = lowerRequest(request, anthropicMessages, target, USUAL_HABITS)
      expect(refusals(body, known)).toEqual([])
    }),
    { numRuns: 400 },
  )
})

/** Why Anthropic would answer a request with a 400. */
function refusals(body: JsonObject, known: Known): string[] {
  const found = new Set<string>()
  const must = (holds: boolean, rule: string) => {
    if (!holds) found.add(rule)
  }
  const thinks = thinkingLaw(body, known, must)
  toolLaw(body, known, thinks, must)
  const messages = asObjects(body['messages']).map(message => ({
    role: asString(message['role']),
    blocks: asObjects(message['content']),
  }))
  let open: string[] = []
  const ids = new Set<string>()
  for (const [index, { role, blocks }] of messages.entries()) {
    const next = messages[index + 1]?.role
    must(blocks.length > 0, 'a message says something')
    must(index > 0 || role === 'user', 'the user begins')
    must(role !== next, 'roles alternate')
    if (role === 'system') {
      must(known.system, 'the model takes system messages')
      must(messages[index - 1]?.role === 'user', 'a system message follows one of the user`s')
      must(next !== 'user', 'a system message precedes one of the assistant`s')
    }
    const results = blocks.filter(({ type }) => type === 'tool_result')
    must(
      blocks.slice(0, results.length).every(block => results.includes(block)),
      'results come first',
    )
    const answered = results.map(block => String(block['tool_use_id']))
    must(
      answered.toSorted().join() === open.toSorted().join(),
      'one result for each call of the message before',
    )
    for (const block of blocks) blockLaw(block, role, must)
    open = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? String(id) : []))
    for (const id of open) must(ids.size < ids.add(id).size, 'ids are distinct')
    const last = asString(blocks.at(-1)?.['type'])
    must(role !== 'assistant' || !isThought(last), 'an assistant`s message does not end in a thought')
  }
  must(open.length === 0, 'every call has a result')
  const end = messages.at(-1)
  if (end?.role === 'assistant') {
    must(known.prefill && !thinks, 'the assistant has the last word only where the answer goes on from it')
    must(!/\s$/.test(asString(end.blocks.at(-1)?.['text']) ?? ''), 'no white space at the end')
    must(!end.blocks.some(({ type }) => isThought(asString(type))), 'no thought in what is gone on from')
  }
  const thinksBefore =
    messages.findLastIndex(({ role, blocks }) => role === 'user' && !answersCalls(blocks)) + 1
  const first = asString(messages[thinksBefore]?.blocks[0]?.['type'])
  const isLoop = end?.role === 'user' && answersCalls(end.blocks)
  if (isLoop && asObject(body['thinking'])?.['type'] === 'enabled')
    must(isThought(first), 'thinking goes on only from a thought')
  return [...found]
}

type Must = (holds: boolean, rule: string) => void

function thinkingLaw(body: JsonObject, { thinks }: Known, must: Must): boolean {
  const thinking = asObject(body['thinking'])
  const type = thinking?.['type']
  const isOn = type === 'enabled' || type === 'adaptive'
  must(!isOn || type === thinks, `thinking is ${thinks}`)
  if (type === 'enabled') {
    const budget = asNumber(thinking?.['budget_tokens']) ?? 0
    must(budget >= 1024 && budget < (asNumber(body['max_tokens']) ?? 0), 'the budget leaves room for words')
  }
  const { temperature = 1, top_p: topP = 1 } = body
  must(Number(temperature) <= 1 && (!isOn || temperature === 1), 'the temperature')
  must(!isOn || Number(topP) >= 0.95, 'top_p beside thinking')
  must(body['temperature'] === undefined || body['top_p'] === undefined, 'not both')
  return isOn
}

function toolLaw(body: JsonObject, { forced }: Known, thinks: boolean, must: Must): void {
  const names = new Set<unknown>()
  for (const { name, input_schema: schema } of asObjects(body['tools'])) {
    must(/^[a-zA-Z0-9_-]{1,128}$/.test(String(name)) && !names.has(name), 'tools have names of their own')
    names.add(name)
    const { type, anyOf, oneOf, allOf, $ref } = asObject(schema) ?? {}
    must(
      type === 'object' && [anyOf, oneOf, allOf, $ref].every(each => each === undefined),
      'input is an object',
    )
  }
  const choice = asObject(body['tool_choice'])?.['type']
  must(choice === undefined || names.size > 0, 'a choice is one of tools')
  must((choice !== 'any' && choice !== 'tool') || (forced && !thinks), 'no call is forced')
  const called = asObjects(body['messages']).flatMap(({ content }) => asObjects(content))
  must(names.size > 0 || !called.some(({ type }) => type === 'tool_use'), 'called tools are defined')
}

function blockLaw(block: JsonObject, role: string | undefined, must: Must): void {
  const { type, text, signature, data, id, name, input, title, context, content } = block
  if (type === 'text') must(String(text).trim() !== '', 'texts are not empty')
  if (isThought(asString(type)))
    must(role === 'assistant' && Boolean(signature ?? data), 'thoughts are signed')
  if (type === 'image' || type === 'document') must(role === 'user', 'the user shows media')
  if (type === 'image') must(asObject(block['source'])?.['media_type'] === 'image/png', 'a PNG is called one')
  if (type === 'document') must(title !== '' && context !== '', 'documents have titles or none')
  if (type === 'tool_use') {
    must(role === 'assistant' && asObject(input) !== undefined, 'calls are the assistant`s, with an object')
    must(/^[a-zA-Z0-9_-]+$/.test(String(id)), 'the id of a call')
    must(/^[a-zA-Z0-9_-]{1,200}$/.test(String(name)), 'the name of a call')
  }
  if (type !== 'tool_result') return
  for (const inner of asObjects(content)) blockLaw(inner, 'user', must)
  if (block['is_error'] !== true) return
  must(content !== undefined && content !== '', 'a failure is told')
  must(
    asArray(content).every(inner => asObject(inner)?.['type'] === 'text'),
    'a failure is told in words',
  )
}

function isThought(type: string | undefined): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

function answersCalls(blocks: readonly JsonObject[]): boolean {
  return blocks.some(({ type }) => type === 'tool_result')
}
