import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { geminiGenerateContent } from '@/formats/gemini-generate-content/codec.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { asNumber, asObject, asObjects, asString, type JsonObject } from '@/json/json.ts'
import { roughRequest } from './rough.ts'

/** What Google says of a model. https://ai.google.dev/gemini-api/docs/thinking */
interface Known {
  thinks: 'thinkingBudget' | 'thinkingLevel' | undefined
  /** Gives calls an id, and refuses one of the current turn whose step is not signed. */
  signs: boolean
  /** Takes a conversation that ends in a turn of its own. */
  prefill: boolean
  /** Takes parameters as JSON Schema. */
  jsonSchema: boolean
}

const MODELS: readonly (readonly [string, Known])[] = [
  ['gemini-2.0-flash', { thinks: undefined, signs: false, prefill: true, jsonSchema: false }],
  ['gemini-2.5-flash', { thinks: 'thinkingBudget', signs: false, prefill: true, jsonSchema: true }],
  ['gemini-3-pro-preview', { thinks: 'thinkingLevel', signs: true, prefill: true, jsonSchema: true }],
  ['gemini-3.8-flash', { thinks: 'thinkingLevel', signs: true, prefill: false, jsonSchema: true }],
]

const OWN = { format: 'gemini-generate-content', vendor: 'google', value: 'U0lH' } as const

test.each(MODELS)('what %s is sent for a rough request is a request that Google takes', (model, known) => {
  const target = { model, vendor: OWN.vendor, maxOutputTokens: undefined }
  fc.assert(
    fc.property(roughRequest(OWN), request => {
      const { body } = lowerRequest(request, geminiGenerateContent, target, USUAL_HABITS)
      expect(refusals(body, known)).toEqual([])
    }),
    { numRuns: 400 },
  )
})

interface Content {
  role: string | undefined
  parts: JsonObject[]
  calls: JsonObject[]
  responses: JsonObject[]
}

type Must = (holds: boolean, rule: string) => void

/** Why Google would answer a request with a 400. */
function refusals(body: JsonObject, known: Known): string[] {
  const found = new Set<string>()
  const must = (holds: boolean, rule: string) => {
    if (!holds) found.add(rule)
  }
  configLaw(asObject(body['generationConfig']), known, must)
  toolLaw(body, known, must)
  const system = asObjects(asObject(body['systemInstruction'])?.['parts'])
  must(
    body['systemInstruction'] === undefined || system.some(({ text }) => text !== ''),
    'the instruction says something',
  )
  const contents = asObjects(body['contents']).map((content): Content => {
    const parts = asObjects(content['parts'])
    const of = (name: string) => asObjects(parts.map(part => part[name] ?? null))
    return {
      role: asString(content['role']),
      parts,
      calls: of('functionCall'),
      responses: of('functionResponse'),
    }
  })
  for (const [index, content] of contents.entries()) contentLaw(content, contents[index + 1], known, must)
  must(
    contents[0]?.role === 'user' && contents[0].responses.length === 0,
    'the user begins, and not with a result',
  )
  must(known.prefill || contents.at(-1)?.role === 'user', 'the user has the last word')
  const turn = contents.findLastIndex(({ role, responses }) => role === 'user' && responses.length === 0)
  for (const { parts } of known.signs ? contents.slice(turn + 1) : []) {
    const call = parts.find(part => part['functionCall'] !== undefined)
    must(call === undefined || call['thoughtSignature'] !== undefined, 'the first call of a step is signed')
  }
  return [...found]
}

function configLaw(config: JsonObject | undefined, { thinks }: Known, must: Must): void {
  must(config === undefined || Object.keys(config).length > 0, 'a configuration says something')
  const thinking = Object.keys(asObject(config?.['thinkingConfig']) ?? {})
  must(
    thinking.every(name => name === thinks || name === 'includeThoughts'),
    'thinking as the model knows it',
  )
  must((asNumber(config?.['temperature']) ?? 1) <= 2, 'the temperature')
  must((asNumber(config?.['maxOutputTokens']) ?? 1) >= 1, 'room for an answer')
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/

function toolLaw(body: JsonObject, { jsonSchema }: Known, must: Must): void {
  const names = new Set<unknown>()
  for (const { functionDeclarations } of asObjects(body['tools'])) {
    for (const { name, parameters, parametersJsonSchema } of asObjects(functionDeclarations)) {
      must(NAME.test(String(name)) && !names.has(name), 'functions have names of their own')
      names.add(name)
      must(
        (jsonSchema ? parameters : parametersJsonSchema) === undefined,
        'parameters as the model knows them',
      )
      const schema = asObject(parameters ?? parametersJsonSchema)
      const isObject = schema?.['type'] === (jsonSchema ? 'object' : 'OBJECT')
      const hasProperties = Object.keys(asObject(schema?.['properties']) ?? {}).length > 0
      must(schema === undefined || (isObject && hasProperties), 'parameters are an object with properties')
    }
  }
  const choice = asObject(asObject(body['toolConfig'])?.['functionCallingConfig'])
  must(choice === undefined || names.size > 0, 'a choice is one of functions')
}

const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse']

function contentLaw(content: Content, next: Content | undefined, { signs }: Known, must: Must): void {
  const { role, parts, calls, responses } = content
  must(role === 'user' || role === 'model', 'a content is the user`s or the model`s')
  must(role !== next?.role, 'roles alternate')
  must(parts.length > 0, 'a content has parts')
  for (const part of parts) {
    must(DATA.filter(name => name in part).length === 1, 'a part is one thing')
    must(part['text'] !== '' || part['thoughtSignature'] !== undefined, 'texts are not empty')
  }
  must(calls.length === 0 || role === 'model', 'calls are the model`s')
  must(responses.length === 0 || role === 'user', 'results are the user`s')
  must(
    parts.slice(0, responses.length).every(part => part['functionResponse'] !== undefined),
    'results come first',
  )
  for (const { name, args } of calls)
    must(NAME.test(String(name)) && asObject(args ?? {}) !== undefined, 'a call has a name and an object')
  for (const { response } of responses) must(asObject(response) !== undefined, 'a result is an object')
  if (role !== 'model') return
  const named = (all: readonly JsonObject[]) => all.map(({ name, id }) => [name, signs ? id : undefined])
  must(
    JSON.stringify(named(calls)) === JSON.stringify(named(next?.responses ?? [])),
    'one result for each call, in their order, by the same name and id',
  )
}
