import type { JsonObject } from '@/json/json.ts'
import { refuseType, requireString } from '@/simulator/openai/validate.ts'
import { words } from '@/simulator/script/words.ts'
import { eventStream, json, type OperationAnswer, tokensOf } from './answer.ts'
import type { OperationFields } from './fields.ts'

/** The same silence for every text. */
export function speech(body: JsonObject): OperationAnswer {
  const input = requireString(body['input'], 'input')
  if (body['stream_format'] !== 'sse') return { contentType: 'audio/wav', body: SILENCE }
  const tokens = { input_tokens: tokensOf(input), output_tokens: 1, total_tokens: tokensOf(input) + 1 }
  const audio = Buffer.from(SILENCE).toString('base64')
  return eventStream([
    { type: 'speech.audio.delta', audio },
    { type: 'speech.audio.done', usage: tokens },
  ])
}

/** A transcript that names the file, in the format asked for. */
export function transcription({ body, file }: OperationFields): OperationAnswer {
  if (file === undefined) return refuseType('file', 'a file', undefined)
  const text = `Transcript of ${file.name}.`
  const pieces = [...words(text)]
  const input = Math.ceil(file.bytes / 4)
  const usage = {
    type: 'tokens',
    input_tokens: input,
    output_tokens: pieces.length,
    total_tokens: input + pieces.length,
    input_token_details: { audio_tokens: input, text_tokens: 0 },
  }
  if (body['stream'] === 'true') {
    return eventStream([
      ...pieces.map(delta => ({ type: 'transcript.text.delta', delta })),
      { type: 'transcript.text.done', text, usage },
    ])
  }
  switch (body['response_format']) {
    case 'text':
      return { contentType: 'text/plain; charset=utf-8', body: `${text}\n` }
    case 'srt':
      return {
        contentType: 'text/plain; charset=utf-8',
        body: `1\n00:00:00,000 --> 00:00:01,000\n${text}\n\n`,
      }
    case 'vtt':
      return {
        contentType: 'text/vtt; charset=utf-8',
        body: `WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n${text}\n\n`,
      }
    case 'verbose_json':
      return json({
        task: 'transcribe',
        language: 'english',
        duration: 1,
        text,
        segments: [],
        usage: { type: 'duration', seconds: 1 },
      })
    default:
      return json({ text, usage })
  }
}

/** A WAV file of one silent sample. */
const SILENCE = Uint8Array.fromBase64('UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==')
