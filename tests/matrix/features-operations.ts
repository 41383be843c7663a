import { deepEqual, equal, ok } from 'node:assert/strict'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { until } from '#tests/support/upstreams/upstream.ts'
import { IMAGE_BASE64 } from '@/simulator/script/script.ts'
import type { Cell, Feature } from './cell.ts'
import type { Side } from './talk.ts'

/** Every upstream that has operations at all. */
const ALL: readonly Side[] = ['chat', 'responses', 'gemini']

const CONVERSE: readonly Side[] = ['chat', 'responses', 'messages', 'gemini']

/**
 * What is no conversation. Called by OpenAI's SDK, which stands in the column of Chat Completions, and in Google's way
 * in Gemini's.
 */
export const OPERATION_FEATURES: readonly Feature[] = [
  { name: 'embeddings: one text', run: oneEmbedding, isForeign: foreign(['chat', 'gemini'], ALL, ['whole']) },
  {
    name: 'embeddings: many texts, in order, of a given length',
    run: manyEmbeddings,
    isForeign: foreign(['chat', 'gemini'], ALL, ['whole']),
  },
  { name: 'images: generation', run: cell => generation(cell), isForeign: foreign(['chat'], ALL) },
  {
    name: 'images: Imagen',
    run: cell => generation(cell, 'imagen/echo'),
    isForeign: foreign(['chat'], ['gemini']),
  },
  { name: 'images: predict', run: predict, isForeign: foreign(['gemini'], ALL, ['whole']) },
  { name: 'images: edit of two files', run: edit, isForeign: foreign(['chat'], ALL) },
  {
    name: 'images: variation',
    run: variation,
    isForeign: foreign(['chat'], ['chat', 'responses'], ['whole']),
  },
  { name: 'audio: speech', run: speech, isForeign: foreign(['chat'], ['chat', 'responses']) },
  { name: 'audio: transcription', run: transcription, isForeign: foreign(['chat'], ['chat', 'responses']) },
  {
    name: 'audio: translation',
    run: translation,
    isForeign: foreign(['chat'], ['chat', 'responses'], ['whole']),
  },
  { name: 'videos: ordered, made, fetched', run: video, isForeign: foreign(['chat'], ALL, ['whole']) },
  {
    name: 'responses: kept, and gone on from',
    run: keptResponse,
    isForeign: foreign(['responses'], CONVERSE),
  },
  {
    name: 'responses: in the background',
    run: backgroundResponse,
    isForeign: foreign(['responses'], CONVERSE, ['whole']),
  },
]

function foreign(
  callers: readonly Side[],
  upstreams: readonly Side[],
  modes: readonly string[] = ['whole', 'streamed'],
): NonNullable<Feature['isForeign']> {
  return (caller, upstream, mode) =>
    !callers.includes(caller) || !upstreams.includes(upstream) || !modes.includes(mode)
}

function openai({ rig: { gateway } }: Cell): OpenAI {
  return new OpenAI({ apiKey: gateway.key, baseURL: new URL('/v1', gateway.url).href, maxRetries: 0 })
}

function google({ rig: { gateway } }: Cell): GoogleGenAI {
  return new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } })
}

/** The vectors of some texts, by the SDK of whoever calls. */
async function embed(cell: Cell, texts: string[], dimensions: number): Promise<number[][]> {
  const model = cell.model('echo')
  if (cell.caller.side === 'chat') {
    const answer = await openai(cell).embeddings.create({ model, input: texts, dimensions })
    deepEqual(
      answer.data.map(({ index }) => index),
      texts.map((_, index) => index),
    )
    ok(answer.usage.prompt_tokens > 0)
    return answer.data.map(({ embedding }) => embedding)
  }
  const config = { outputDimensionality: dimensions }
  const answer = await google(cell).models.embedContent({ model, contents: texts, config })
  return (answer.embeddings ?? []).map(({ values }) => values ?? [])
}

async function oneEmbedding(cell: Cell): Promise<void> {
  const [vector] = await embed(cell, ['a toll gate'], 16)
  equal(vector?.length, 16)
  ok(Math.abs(Math.hypot(...(vector ?? [])) - 1) < 1e-4)
  ok((await cell.rig.stored()).input > 0)
}

async function manyEmbeddings(cell: Cell): Promise<void> {
  const texts = ['one', 'two', 'three']
  const all = await embed(cell, texts, 8)
  for (const [index, text] of texts.entries()) deepEqual(all[index], (await embed(cell, [text], 8))[0])
}

async function generation(cell: Cell, name = 'image'): Promise<void> {
  const model = cell.model(name)
  const request = { model, prompt: 'a toll gate', size: '1024x1024' } as const
  if (cell.mode === 'whole') {
    const answer = await openai(cell).images.generate(request)
    equal(answer.data?.[0]?.b64_json, IMAGE_BASE64)
  } else {
    const stream = await openai(cell).images.generate({ ...request, stream: true })
    for await (const event of stream) if (event.type === 'image_generation.completed') return isPixel(event)
    throw new Error('no image came')
  }
}

function isPixel(event: { b64_json: string }): void {
  equal(event.b64_json, IMAGE_BASE64)
}

async function predict(cell: Cell): Promise<void> {
  const { gateway } = cell.rig
  const name = cell.upstream === 'gemini' ? 'imagen/echo' : 'image'
  const response = await fetch(`${gateway.url}/v1beta/models/${cell.model(name)}:predict`, {
    method: 'POST',
    headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify({ instances: [{ prompt: 'a toll gate' }], parameters: { sampleCount: 1 } }),
  })
  deepEqual(await response.json(), {
    predictions: [{ bytesBase64Encoded: IMAGE_BASE64, mimeType: 'image/png' }],
  })
}

async function edit(cell: Cell): Promise<void> {
  const file = () => toFile(Buffer.from(IMAGE_BASE64, 'base64'), 'in.png', { type: 'image/png' })
  const request = { model: cell.model('image'), prompt: 'brighter', image: [await file(), await file()] }
  if (cell.mode === 'whole') {
    equal((await openai(cell).images.edit(request)).data?.[0]?.b64_json, IMAGE_BASE64)
    return
  }
  const stream = await openai(cell).images.edit({ ...request, stream: true })
  for await (const event of stream) if (event.type.endsWith('.completed')) return isPixel(event)
  throw new Error('no image came')
}

async function variation(cell: Cell): Promise<void> {
  const image = await toFile(Buffer.from(IMAGE_BASE64, 'base64'), 'in.png', { type: 'image/png' })
  const answer = await openai(cell).images.createVariation({ model: cell.model('image'), image, n: 2 })
  equal(answer.data?.length, 2)
}

async function speech(cell: Cell): Promise<void> {
  const request = { model: cell.model('echo'), voice: 'alloy', input: 'Good morning' } as const
  const isStreamed = cell.mode === 'streamed'
  const sound = await openai(cell).audio.speech.create(
    isStreamed ? { ...request, stream_format: 'sse' } : request,
  )
  const bytes = Buffer.from(await sound.arrayBuffer()).toString('latin1')
  if (isStreamed) ok(bytes.includes('speech.audio.done'))
  else ok(bytes.startsWith('RIFF'))
  ok((await cell.rig.stored()).input > 0)
}

const SAID = 'Transcript of in.wav.'

async function transcription(cell: Cell): Promise<void> {
  const request = { model: cell.model('echo'), file: await toFile(Buffer.alloc(400), 'in.wav') }
  if (cell.mode === 'whole') {
    equal((await openai(cell).audio.transcriptions.create(request)).text, SAID)
    return
  }
  let text = ''
  const stream = await openai(cell).audio.transcriptions.create({ ...request, stream: true })
  for await (const event of stream) if (event.type === 'transcript.text.delta') text += event.delta
  equal(text, SAID)
}

async function translation(cell: Cell): Promise<void> {
  const file = await toFile(Buffer.alloc(400), 'in.wav')
  const { text } = await openai(cell).audio.translations.create({ model: cell.model('echo'), file })
  equal(text, SAID)
}

async function video(cell: Cell): Promise<void> {
  const { videos } = openai(cell)
  const { id } = await videos.create({ model: cell.model('video'), prompt: 'a toll gate', seconds: '4' })
  await until(async () => (await videos.retrieve(id)).status === 'completed')
  const film = await videos.downloadContent(id)
  equal(film.headers.get('content-type'), 'video/mp4')
  ok((await film.arrayBuffer()).byteLength > 0)
}

async function keptResponse(cell: Cell): Promise<void> {
  const { responses } = openai(cell)
  const model = cell.model('echo')
  const first = await responses.create({ model, input: 'My name is Ada.', store: true })
  equal((await responses.retrieve(first.id)).output_text, 'My name is Ada.')
  const next = { model, input: 'Who am I?', previous_response_id: first.id }
  if (cell.mode === 'whole') equal((await responses.create(next)).output_text, 'Who am I?')
  else for await (const _ of await responses.create({ ...next, stream: true }));
  ok(cell.sentText().includes('My name is Ada.'))
}

async function backgroundResponse(cell: Cell): Promise<void> {
  const { responses } = openai(cell)
  const { id, status } = await responses.create({
    model: cell.model('echo'),
    input: 'Take your time.',
    background: true,
  })
  equal(status, 'queued')
  await until(async () => (await responses.retrieve(id)).status === 'completed')
  equal((await responses.retrieve(id)).output_text, 'Take your time.')
}
