import { describe, expect, test } from 'bun:test'
import { CODECS } from '@/formats/registry.ts'
import type { JsonObject } from '@/json/json.ts'

describe("Gemini's responseFormat", () => {
  const asked = (responseFormat: JsonObject | JsonObject[]) => {
    const body = {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { responseFormat },
    }
    return CODECS['gemini-generate-content'].decodeRequest(body, { model: 'm', stream: false })
  }
  const schema = { type: 'object', properties: { a: { type: 'string' } } }

  test.each([
    ['a list', [{ text: { mimeType: 'application/json', schema } }]],
    ['one alone', { text: { mimeType: 'APPLICATION_JSON', schema } }],
    ['a schema, which says enough of the type', [{ text: { schema } }]],
  ])('is the shape of the answer: %s', (_, format) => {
    expect(asked(format)).toMatchObject({ output: { type: 'json-schema', schema }, extensions: {} })
  })

  test('asks for any JSON, or for text', () => {
    expect(asked([{ text: { mimeType: 'application/json' } }]).output).toEqual({ type: 'json' })
    expect(asked([{ text: { mimeType: 'text/plain' } }]).output).toEqual({ type: 'text' })
  })

  test.each([
    [[{ audio: { mimeType: 'audio/mp3' } }]],
    [[{ text: { mimeType: 'text/x.enum', schema } }]],
    [[{ text: { mimeType: 'application/json', tone: 'dry' } }]],
    [[{ text: { schema } }, { image: {} }]],
  ])('is a loss elsewhere where it says more: %j', format => {
    const { output, extensions } = asked(format)
    expect(output).toBeUndefined()
    expect(extensions['gemini-generate-content']).toMatchObject({
      'generationConfig.responseFormat': format,
    })
  })
})
