import { expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS } from '@/generation/format.ts'

const [CHAT, RESPONSES, , GEMINI] = FORMATS
const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64')

test.each([
  ['by its name, where it is bare base64', { filename: 'a.csv', file_data: base64('a,b') }, 'text/csv'],
  [
    'by its first bytes, where its name says nothing',
    { filename: 'a', file_data: base64('%PDF-1.4') },
    'application/pdf',
  ],
  ['as a PDF, where nothing tells', { file_data: base64('who knows') }, 'application/pdf'],
  [
    'by its name, where its caller calls it a stream of bytes',
    { filename: 'README.md', file_data: `data:application/octet-stream;base64,${base64('# A')}` },
    'text/markdown',
  ],
  [
    'as its caller says',
    { filename: 'a.csv', file_data: `data:text/plain;base64,${base64('a,b')}` },
    'text/plain',
  ],
])("a file of OpenAI's formats is known %s", (_, file, mediaType) => {
  const chat = { messages: [{ role: 'user', content: [{ type: 'file', file }] }] }
  const responses = { input: [{ role: 'user', content: [{ type: 'input_file', ...file }] }] }
  const data = file.file_data.split(',').at(-1)
  const part = { type: 'media', kind: 'document', mediaType, source: { type: 'base64', data } }
  for (const [format, body] of [
    [CHAT, chat],
    [RESPONSES, responses],
  ] as const) {
    const { turns } = CODECS[format].decodeRequest(body, { model: 'm', stream: false })
    expect(turns[0]?.parts[0]).toMatchObject(part)
  }
})

test.each([
  ['as its caller says, in whichever case', { mimeType: 'IMAGE/JPEG', data: 'AAAA' }, 'image', 'image/jpeg'],
  ['by the first bytes of a JPEG', { data: '/9j/4AAQ' }, 'image', 'image/jpeg'],
  ['by the first bytes of a PNG', { data: base64('\u0089PNG\r\n\u001a\n') }, 'image', 'image/png'],
  ['by the first bytes of a GIF', { data: base64('GIF89a') }, 'image', 'image/gif'],
  ['by the first bytes of a WebP', { data: base64('RIFF....WEBP') }, 'image', 'image/webp'],
  [
    'by the first bytes of a WAV',
    { mimeType: 'application/octet-stream', data: base64('RIFF....WAVE') },
    'audio',
    'audio/wav',
  ],
  ['by the first bytes of an MP3', { data: base64('ID3') }, 'audio', 'audio/mp3'],
  [
    'by its name, where its caller calls it a stream of bytes',
    { mimeType: 'application/octet-stream', data: 'AAAA', displayName: 'a.docx' },
    'document',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  ],
])("data of Gemini's format is known %s", (_, inlineData, kind, mediaType) => {
  const body = { contents: [{ parts: [{ inlineData }] }] }
  const { turns } = CODECS[GEMINI].decodeRequest(body, { model: 'm', stream: false })
  expect(turns[0]?.parts[0]).toMatchObject({ type: 'media', kind, mediaType })
})

test("an image of image/jpg, as many call it, is Gemini's image/jpeg", () => {
  const url = 'data:image/jpg;base64,/9j/4AAQ'
  const body = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }
  const request = CODECS[CHAT].decodeRequest(body, { model: 'm', stream: false })
  const { contents } = lowerRequest(request, CODECS[GEMINI], TARGETS[GEMINI], USUAL_HABITS).body
  const inlineData = { mimeType: 'image/jpeg', data: '/9j/4AAQ' }
  expect(contents).toEqual([{ role: 'user', parts: [{ inlineData }] }])
})
