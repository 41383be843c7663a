import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GenerateVideosOperation, GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { startTestGateway } from '#tests/support/gateway/gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { rejectionOf } from './rejection.ts'

const PRICES = 'prices: { per_video_second: 0.1 }'
const gateway = await startTestGateway({
  // Google's SDK reads a file's id out of its address only if that is https.
  publicApiUrl: 'https://gateway.example',
  models: ['chat', 'responses', 'gemini']
    .flatMap(name => [
      `  - { id: ${name}/video, channels: [{ channel: ${name}, model: echo }], ${PRICES} }`,
      `  - { id: ${name}/blocked, channels: [{ channel: ${name}, model: refuse }], ${PRICES} }`,
    ])
    .join('\n'),
})
const directory = mkdtempSync(join(tmpdir(), 'tollgate-videos-'))
afterAll(async () => {
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
})

const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } })

const MAKERS = ['chat', 'responses', 'gemini'] as const
const FILM = Buffer.from('AAAAGGZ0eXBpc29tAAACAGlzb21tcDQx', 'base64')

async function balance(): Promise<{ balanceNano: bigint; pendingNano: bigint }> {
  const found = await gateway.ledger.balance(gateway.accountId)
  return { balanceNano: found?.balanceNano ?? 0n, pendingNano: found?.pendingNano ?? 0n }
}

async function ended(id: string) {
  let video = await openai.videos.retrieve(id)
  await until(async () => {
    video = await openai.videos.retrieve(id)
    return video.status === 'completed' || video.status === 'failed'
  })
  return video
}

describe.each([...MAKERS])('a client of OpenAI, a video made by %s', maker => {
  test('is ordered, held, made, charged once and downloaded', async () => {
    const before = await balance()
    const order = await openai.videos
      .create({ model: `${maker}/video`, prompt: 'a cat', seconds: '8', size: '1280x720' })
      .withResponse()
    const created = order.data
    expect(created).toMatchObject({
      object: 'video',
      status: 'queued',
      model: `${maker}/video`,
      prompt: 'a cat',
      seconds: '8',
      size: '1280x720',
      error: null,
      completed_at: null,
      remixed_from_video_id: null,
    })
    expect(created.id).toMatch(/^video_[0-9a-f]{32}$/)
    expect(await balance()).toEqual({ ...before, pendingNano: before.pendingNano + 800_000_000n })
    const video = await ended(created.id)
    expect(video).toMatchObject({ id: created.id, status: 'completed', progress: 100, prompt: 'a cat' })
    expect(video.completed_at).toBeGreaterThan(0)
    expect(await balance()).toEqual({ ...before, balanceNano: before.balanceNano - 800_000_000n })
    const content = await openai.videos.downloadContent(created.id)
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(Buffer.from(await content.arrayBuffer())).toEqual(FILM)
    // Looked at again it costs nothing again.
    await openai.videos.retrieve(created.id)
    expect((await balance()).balanceNano).toBe(before.balanceNano - 800_000_000n)
    const [row] = (await gateway.exchanges()).slice(-1)
    expect(row).toMatchObject({
      id: order.response.headers.get('x-request-id'),
      surface: 'videos',
      extras: { videoSeconds: 8 },
      cost_nano: 800_000_000n,
      usage_source: 'reported',
    })
  })

  test('begins with a picture that came in a form', async () => {
    const picture = await toFile(new Uint8Array([1, 2, 3]), 'cat.png', { type: 'image/png' })
    const video = await openai.videos.create({
      model: `${maker}/video`,
      prompt: 'a cat',
      input_reference: picture,
    })
    const [sent] = gateway.simulator.simulator.recordings.all().slice(-1)
    const body = Buffer.from(String(sent?.bodyBase64 ?? ''), 'base64').toString('latin1')
    if (maker === 'gemini') expect(body).toContain('AQID')
    else expect(body).toContain('cat.png')
    expect((await ended(video.id)).status).toBe('completed')
  })

  test('that is refused gives the money back', async () => {
    const before = await balance()
    const created = await openai.videos.create({ model: `${maker}/blocked`, prompt: 'a cat' })
    expect((await balance()).pendingNano).toBeGreaterThan(before.pendingNano)
    const video = await ended(created.id)
    expect(video.error).toEqual({
      code: 'moderation_blocked',
      message: 'The simulator refused this prompt.',
    })
    expect(await balance()).toEqual(before)
    const refused = await rejectionOf(openai.videos.downloadContent(created.id))
    expect(refused).toMatchObject({ status: 404, code: 'not_found' })
  })

  test('is listed page by page, and gone once it is deleted', async () => {
    const ids: string[] = []
    for (let index = 0; index < 3; index += 1)
      ids.unshift((await openai.videos.create({ model: `${maker}/video`, prompt: `${index}` })).id)
    const seen: string[] = []
    for await (const video of openai.videos.list({ limit: 2 })) {
      seen.push(video.id)
      if (seen.length === 3) break
    }
    expect(seen).toEqual(ids)
    const [newest = '', ...others] = ids
    const page = await openai.videos.list({ limit: 2, after: newest, order: 'desc' })
    expect(page.data.map(({ id }) => id)).toEqual(others)
    for (const id of ids) {
      await ended(id)
      expect(await openai.videos.delete(id)).toEqual({ id, object: 'video.deleted', deleted: true })
      expect(await rejectionOf(openai.videos.retrieve(id))).toMatchObject({ status: 404, code: 'not_found' })
      expect(await rejectionOf(openai.videos.delete(id))).toMatchObject({ status: 404 })
    }
  })
})

test.each(['chat', 'responses'])('a video of %s is remixed where it was made', async maker => {
  const source = await openai.videos.create({ model: `${maker}/video`, prompt: 'a cat', seconds: '4' })
  await ended(source.id)
  const before = await balance()
  const remix = await openai.videos.remix(source.id, { prompt: 'a dog' })
  expect(remix).toMatchObject({ remixed_from_video_id: source.id, prompt: 'a dog', seconds: '4' })
  expect((await ended(remix.id)).status).toBe('completed')
  expect(await balance()).toEqual({ ...before, balanceNano: before.balanceNano - 400_000_000n })
})

test('a video of Veo cannot be remixed, and says so', async () => {
  const source = await openai.videos.create({ model: 'gemini/video', prompt: 'a cat' })
  await ended(source.id)
  const refused = await rejectionOf(openai.videos.remix(source.id, { prompt: 'a dog' }))
  expect(refused).toMatchObject({ status: 400, code: 'unsupported_parameter' })
})

describe.each([...MAKERS])('a client of Google, a video made by %s', maker => {
  /** Since its version 3 the SDK orders videos at Vertex only; it still follows and downloads those of the Gemini API. */
  async function order(model: string, parameters: object): Promise<GenerateVideosOperation> {
    const response = await fetch(`${gateway.url}/v1beta/models/${model}:predictLongRunning`, {
      method: 'POST',
      headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
      body: JSON.stringify({ instances: [{ prompt: 'a cat' }], parameters }),
    })
    const begun: unknown = await response.json()
    return Object.assign(new GenerateVideosOperation(), begun)
  }

  async function finished(first: GenerateVideosOperation): Promise<GenerateVideosOperation> {
    let operation = first
    await until(async () => {
      operation = await google.operations.getVideosOperation({ operation })
      return operation.done === true
    })
    return operation
  }

  test('is ordered, made, charged once and downloaded', async () => {
    const before = await balance()
    const parameters = { durationSeconds: 8, aspectRatio: '16:9', resolution: '720p' }
    const begun = await order(`${maker}/video`, parameters)
    expect(begun.name).toMatch(new RegExp(`^models/${maker}/video/operations/[0-9a-f]{32}$`))
    expect(begun.done).not.toBe(true)
    expect(await balance()).toEqual({ ...before, pendingNano: before.pendingNano + 800_000_000n })
    const operation = await finished(begun)
    expect(operation.error).toBeUndefined()
    const [made] = operation.response?.generatedVideos ?? []
    expect(made?.video?.uri).toStartWith('https://gateway.example/v1beta/files/')
    expect(await balance()).toEqual({ ...before, balanceNano: before.balanceNano - 800_000_000n })
    const path = join(directory, `${maker}.mp4`)
    if (made === undefined) throw new Error('no video')
    await google.files.download({ file: made, downloadPath: path })
    await until(() => readFileSync(path).length === FILM.length)
    expect(readFileSync(path)).toEqual(FILM)
  })

  test('that is refused gives the money back', async () => {
    const before = await balance()
    const operation = await finished(await order(`${maker}/blocked`, {}))
    expect(operation.response?.generatedVideos ?? []).toEqual([])
    const told = JSON.stringify([operation.error, operation.response?.raiMediaFilteredReasons])
    expect(told).toContain('The simulator refused this prompt.')
    expect(await balance()).toEqual(before)
  })
})
