import type { Part } from '@/generation/part.ts'
import type { Candidate, GenerationResponse } from '@/generation/response.ts'
import { isJsonObject, parseObject } from '@/json/json.ts'

/**
 * What an answer says, whatever the format cut it into: one text, one train of thought and one list of calls, which
 * is all that Chat Completions can tell apart. Tool input is compared as the JSON it is; a call that was cut short
 * holds text that is none, which the formats with whole objects wrap as `_raw`.
 */
export function said(response: GenerationResponse) {
  const { id: _id, model: _model, candidates, ...rest } = response
  return { ...rest, candidates: candidates.map(candidateSaid) }
}

function candidateSaid({ parts, finish, logprobs }: Candidate) {
  return {
    text: textsOf(parts, 'text').join(''),
    refusal: textsOf(parts, 'refusal').join(''),
    reasoning: parts
      .flatMap(part => (part.type === 'reasoning' ? part.texts : []))
      .join('')
      .replace(/\s+/g, ''),
    calls: parts.flatMap(part =>
      part.type === 'tool-call' ? [{ id: part.callId, name: part.name, input: inputOf(part.input) }] : [],
    ),
    media: parts.flatMap(part => (part.type === 'media' ? [part.source] : [])),
    citations: parts.flatMap(part =>
      part.type === 'text' ? part.citations.map(({ url, title }) => ({ url, title })) : [],
    ),
    finish,
    logprobs,
  }
}

function textsOf(parts: readonly Part[], type: 'text' | 'refusal'): string[] {
  return parts.flatMap(part => (part.type === type ? [part.text] : []))
}

function inputOf(text: string): unknown {
  const value = parseObject(text)
  return isJsonObject(value) ? (value['_raw'] ?? value) : text
}
