import { describe, expect, test } from 'bun:test'
import { collect, rejection, runSimulator } from './running.ts'

const { server, openai, google, post } = runSimulator()

const sound = () => new File([new Uint8Array(40)], 'hello.wav')

describe('operations through the official SDKs', () => {
  test('embeddings: unit vectors in order, equal for equal text, in numbers and in base64', async () => {
    const { data, usage } = await openai.embeddings.create({
      model: 'echo',
      input: ['four', 'five', 'four'],
      dimensions: 8,
    })
    expect(data.map(entry => entry.index)).toEqual([0, 1, 2])
    expect(data[0]?.embedding).toHaveLength(8)
    expect(Math.hypot(...(data[0]?.embedding ?? []))).toBeCloseTo(1, 5)
    expect(data[2]?.embedding).toEqual(data[0]?.embedding ?? [])
    expect(data[1]?.embedding).not.toEqual(data[0]?.embedding ?? [])
    expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 })
    const floats = await openai.embeddings.create({
      model: 'echo',
      input: ['four'],
      dimensions: 8,
      encoding_format: 'float',
    })
    expect(floats.data[0]?.embedding).toEqual(data[0]?.embedding ?? [])
  })

  test.each([0, 1.5, 1e15])('embeddings: no vector has %d dimensions', async dimensions => {
    const response = await post('/v1/embeddings', { model: 'echo', input: 'a', dimensions })
    expect(response.status).toBe(400)
  })

  test.each([[5], [[]], [null]])('embeddings: %j is no input', async input => {
    const response = await post('/v1/embeddings', { model: 'echo', input })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { param: 'input' } })
  })

  test('embedContent and batchEmbedContents', async () => {
    const { embeddings } = await google.models.embedContent({
      model: 'echo',
      contents: ['a', 'b'],
      config: { outputDimensionality: 4 },
    })
    expect(embeddings?.map(entry => entry.values?.length)).toEqual([4, 4])
    const one = await post('/v1beta/models/echo:embedContent', {
      content: { parts: [{ text: 'a' }] },
      outputDimensionality: 4,
    })
    expect(await one.json()).toEqual({ embedding: { values: embeddings?.[0]?.values } })
    const content = { parts: [{ text: 'a' }] }
    const batch = (size: number) =>
      post('/v1beta/models/echo:batchEmbedContents', { requests: Array(size).fill({ content }) })
    expect((await batch(100)).status).toBe(200)
    expect((await batch(101)).status).toBe(400)
  })

  test('images: whole, edited from a form, and streamed', async () => {
    const made = await openai.images.generate({ model: 'echo', prompt: 'a cat!!!', n: 2 })
    expect(made.data).toHaveLength(2)
    expect(made.usage).toMatchObject({ input_tokens: 2, output_tokens: 516, total_tokens: 518 })
    const edited = await openai.images.edit({ model: 'echo', prompt: 'x', image: sound() })
    expect(edited.data?.[0]?.b64_json).toBeString()
    const events = await collect(
      await openai.images.generate({ model: 'echo', prompt: 'x', stream: true, partial_images: 1 }),
    )
    expect(events.map(event => event.type)).toEqual([
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    expect(await rejection(openai.images.generate({ model: 'refuse', prompt: 'x' }))).toContain(
      'safety system',
    )
  })

  test.each([
    ['/v1/images/generations', { model: 'echo' }],
    ['/v1/images/generations', { model: 'echo', prompt: 5 }],
    ['/v1beta/models/echo:predict', {}],
    ['/v1beta/models/echo:predict', { instances: [] }],
    ['/v1beta/models/echo:predict', { instances: [{ prompt: 'x' }, {}] }],
  ])('%s refuses %j, which says nothing to paint', async (path, body) => {
    const response = await post(path, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(/prompt|instance/) },
    })
  })

  test('predict gives as many images as asked for', async () => {
    const response = await post('/v1beta/models/echo:predict', {
      instances: [{ prompt: 'x' }],
      parameters: { sampleCount: 2 },
    })
    expect(await response.json()).toMatchObject({
      predictions: [{ mimeType: 'image/png' }, { mimeType: 'image/png' }],
    })
  })

  test('audio: speech is a sound, a transcript names the file', async () => {
    const spoken = await openai.audio.speech.create({ model: 'echo', voice: 'alloy', input: 'x' })
    expect(Buffer.from(await spoken.arrayBuffer()).toString('latin1')).toStartWith('RIFF')
    const { text } = await openai.audio.transcriptions.create({ model: 'echo', file: sound() })
    expect(text).toBe('Transcript of hello.wav.')
    const events = await collect(
      await openai.audio.transcriptions.create({ model: 'echo', file: sound(), stream: true }),
    )
    expect(events.at(-1)).toMatchObject({ type: 'transcript.text.done', text })
    expect(
      await rejection(openai.audio.translations.create({ model: 'error-500', file: sound() })),
    ).toContain('500')
  })

  test('videos: a job moves on with each look, and its content is there at the end', async () => {
    const job = await openai.videos.create({ model: 'echo', prompt: 'a cart', seconds: '8' })
    expect(job).toMatchObject({ status: 'queued', progress: 0, seconds: '8' })
    expect(await rejection(openai.videos.downloadContent(job.id))).toContain('404')
    expect(await openai.videos.retrieve(job.id)).toMatchObject({ status: 'in_progress', progress: 50 })
    expect(await openai.videos.retrieve(job.id)).toMatchObject({ status: 'completed', progress: 100 })
    expect((await openai.videos.downloadContent(job.id)).headers.get('content-type')).toBe('video/mp4')
    expect(await openai.videos.remix(job.id, { prompt: 'slower' })).toMatchObject({
      remixed_from_video_id: job.id,
      seconds: '8',
      status: 'queued',
    })
    expect((await openai.videos.list()).data).toHaveLength(2)
    expect(await openai.videos.delete(job.id)).toMatchObject({ deleted: true })
    expect(await rejection(openai.videos.retrieve(job.id))).toContain('404')
  })

  test('a long-running operation ends in an address that can be downloaded', async () => {
    const started = await post('/v1beta/models/echo:predictLongRunning', {
      instances: [{ prompt: 'x' }],
      parameters: { durationSeconds: 6 },
    })
    const { name }: { name: string } = JSON.parse(await started.text())
    const look = async () => JSON.parse(await (await fetch(`${server.url}/v1beta/${name}?key=k`)).text())
    expect(await look()).toEqual({ name })
    const { done, response } = await look()
    expect(done).toBe(true)
    const { uri } = response.generateVideoResponse.generatedSamples[0].video
    expect(uri).toMatch(/\/v1beta\/files\/[a-z0-9]+:download\?alt=media$/)
    expect((await fetch(`${uri}&key=k`)).headers.get('content-type')).toBe('video/mp4')
  })
})
