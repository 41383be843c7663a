import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { decodeBody } from '@/exchange/admission/prompt.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS, type Format } from '@/generation/format.ts'
import { parseObject } from '@/json/json.ts'

/** Numbers that no double holds. */
const NUMBERS = ['9007199254740993', '18446744073709551615', '-0', '0.12345678901234567891'] as const
const [ID, MOST, LEAST, STEP] = NUMBERS
const SCHEMA =
  '{"type":"object","properties":{' +
  `"id":{"type":"integer","default":${ID},"maximum":${MOST},"minimum":${LEAST}},` +
  `"step":{"type":"number","default":${STEP}}},"required":["id","step"]}`

/** A request with that schema for a tool and for the answer, as it comes over the wire. */
const REQUESTS: Record<Format, string> = {
  'openai-chat-completions': `{"messages":[{"role":"user","content":"hi"}],
    "tools":[{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}],
    "response_format":{"type":"json_schema","json_schema":{"name":"o","schema":${SCHEMA}}}}`,
  'openai-responses': `{"input":"hi","tools":[{"type":"function","name":"f","parameters":${SCHEMA}}],
    "text":{"format":{"type":"json_schema","name":"o","schema":${SCHEMA}}}}`,
  'anthropic-messages': `{"max_tokens":9,"messages":[{"role":"user","content":"hi"}],
    "tools":[{"name":"f","input_schema":${SCHEMA}}],
    "output_config":{"format":{"type":"json_schema","schema":${SCHEMA}}}}`,
  'gemini-generate-content': `{"contents":[{"parts":[{"text":"hi"}]}],
    "tools":[{"functionDeclarations":[{"name":"f","parameters":${SCHEMA}}]}],
    "generation_config":{"responseMimeType":"application/json","response_json_schema":${SCHEMA}}}`,
}

/** The request's body as an upstream of another format is sent it. */
function sent(from: Format, to: Format, model = TARGETS[to].model): string {
  const text = REQUESTS[from]
  const body = parseObject(text) ?? {}
  const request = decodeBody(body, from, { model: 'm', stream: false }, () => text)
  return JSON.stringify(lowerRequest(request, CODECS[to], { ...TARGETS[to], model }, USUAL_HABITS).body)
}

const count = (text: string, part: string) => text.split(part).length - 1

describe('edge 88: numbers of a schema that no double holds keep every digit', () => {
  for (const from of FORMATS) {
    for (const to of FORMATS) {
      test(`${from} to ${to}`, () => {
        const body = sent(from, to)
        for (const number of NUMBERS) expect([number, count(body, number)]).toEqual([number, 2])
      })
    }

    test(`${from} to a model that takes a subset of JSON Schema`, () => {
      const body = sent(from, 'gemini-generate-content', 'gemini-2.0-flash')
      for (const number of NUMBERS) expect([number, count(body, number)]).toEqual([number, 2])
    })
  }
})
