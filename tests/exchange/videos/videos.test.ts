import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { startNeighbour } from '#tests/support/gateway/gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { least } from '#tests/support/least.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { endlessBody, fedStream, until } from '#tests/support/upstreams/upstream.ts'
import { videoMaker } from '#tests/support/upstreams/video-maker.ts'
import { readError } from '#tests/surfaces/calls.ts'
import { VideoWatch } from '@/exchange/videos/watch.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'
import { audit } from '@/ledger/audit.ts'

const maker = videoMaker()
const gateway = await fileGateway()
await gateway.apply(config())
afterAll(() => maker.stop())
beforeEach(async () => {
  await settleAll()
  maker.seen.length = 0
  maker.withheld = 0
  maker.state = 'in_progress'
  maker.film = () => new Response('film', { headers: { 'content-type': 'video/mp4' } })
})

function config(keys = '["first-key", "second-key"]'): string {
  return `channels:
  - { name: sora, format: openai-responses, base_url: "${maker.url}", api_keys: ${keys}, allow_private: true }
  - { name: veo, format: gemini-generate-content, base_url: "${maker.url}", api_keys: ["google-key"], allow_private: true }
models:
  - { id: sora, channels: [{ channel: sora, model: sora-2 }], prices: { per_video_second: 0.1, per_request: 0.01 } }
  - { id: veo, aliases: [film], channels: [{ channel: veo, model: veo-3 }], prices: { per_video_second: 0.2 } }
  - { id: by-request, channels: [{ channel: sora, model: sora-2 }], prices: { per_request: 0.5 } }
  - { id: text, channels: [{ channel: sora, model: sora-2 }], prices: { input: 1, output: 1 } }
`
}

/** Nothing of one test is left to be looked at in the next. */
async function settleAll(): Promise<void> {
  maker.state = 'failed'
  await gateway.database.sql`update video_job set look_at = now(), leased_until = null where money = 'held'`
  await until(async () => {
    const [row] = await gateway.database.sql`select from video_job where money = 'held'`
    return row === undefined
  })
}

function send(method: string, path: string, body?: JsonObject, headers: Record<string, string> = {}) {
  return fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the body of an answer, which the expectations take apart
type Body = any

async function order(
  model: string,
  body: JsonObject = {},
  headers: Record<string, string> = {},
): Promise<Body> {
  const response = await send('POST', '/v1/videos', { model, prompt: 'a cat', ...body }, headers)
  expect(response.status).toBe(200)
  return response.json()
}

async function orderAsGoogle(model: string, parameters: JsonObject = {}): Promise<Body> {
  const body = { instances: [{ prompt: 'a cat' }], parameters }
  const response = await send('POST', `/v1beta/models/${model}:predictLongRunning`, body)
  expect(response.status).toBe(200)
  return response.json()
}

const uuidOf = (id: string) =>
  id.replace(/^.*?([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/, '$1-$2-$3-$4-$5')

/** Makes a job due now, as if its time had come. */
async function makeDue(id: string): Promise<void> {
  await gateway.database
    .sql`update video_job set look_at = now(), leased_until = null where id = ${uuidOf(id)}`
}

async function jobOf(id: string): Promise<Body> {
  const [row] = await gateway.database.sql`select * from video_job where id = ${uuidOf(id)}`
  return row
}

async function balance() {
  const found = await gateway.ledger.balance(gateway.accountId)
  return { balance: found?.balanceNano ?? 0n, pending: found?.pendingNano ?? 0n }
}

/** As its maker says it now: the request looks itself, since the gateway's own watch is not due. */
async function show(id: string): Promise<Body> {
  await gateway.database
    .sql`update video_job set look_at = now() + interval '1 hour', leased_until = null where id = ${uuidOf(id)}`
  return (await send('GET', `/v1/videos/${id}`)).json()
}

describe('the list', () => {
  test('is the newest first, or the oldest first where that is asked for', async () => {
    const ids = [(await order('sora')).id, (await order('sora')).id]
    const listed = async (query: string): Promise<string[]> => {
      const { data }: Body = await (await send('GET', `/v1/videos?${query}`)).json()
      return data.map(({ id }: Body) => id)
    }
    for (const query of ['limit=2', 'limit=2&order=desc', 'limit=2&order=']) {
      expect(await listed(query)).toEqual(ids.toReversed())
    }
    const oldest = await listed('limit=100&order=asc')
    expect(oldest).toEqual((await listed('limit=100')).toReversed())
    expect(oldest.slice(-2)).toEqual(ids)
  })

  test.each([
    ['limit', '0'],
    ['limit', '101'],
    ['limit', '1.5'],
    ['limit', 'all'],
    ['order', 'newest'],
  ])('cannot be asked for with %s=%s', async (name, value) => {
    const response = await send('GET', `/v1/videos?${name}=${value}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { param: name } })
  })
})

const audited = async () => (await audit(gateway.database.url)).ok

describe('nobody asks after it', () => {
  test('and it is charged all the same', async () => {
    const before = await balance()
    const { id } = await order('sora', { seconds: '8' })
    // The exchange is over, and the money is set aside for the job still.
    await gateway.server.flush()
    expect((await balance()).pending).toBe(before.pending + 810_000_000n)
    maker.state = 'completed'
    await makeDue(id)
    await until(async () => (await jobOf(id)).money === 'charged')
    expect(await balance()).toEqual({ ...before, balance: before.balance - 810_000_000n })
    expect(await audited()).toBe(true)
  })

  test.each(['in_progress', 'broken'] as const)(
    'and past its deadline it is given back, the maker being %s',
    async state => {
      const before = await balance()
      const { id } = await order('sora')
      maker.state = state
      await gateway.database
        .sql`update video_job set deadline = now() - interval '1 second' where id = ${uuidOf(id)}`
      await makeDue(id)
      await until(async () => (await jobOf(id)).money === 'released')
      expect(await balance()).toEqual(before)
      const video = await show(id)
      expect(video).toMatchObject({ status: 'failed', error: { code: 'video_expired' } })
    },
  )

  test('and its maker has lost it: given back, but not while the maker may only be slow to know it', async () => {
    const before = await balance()
    const { id } = await order('sora')
    maker.state = 'lost'
    const { sql } = gateway.database
    // As a gateway with a slow clock orders it, and one with a fast clock.
    await sql`update video_job set created_at = now() - interval '2 hours' where id = ${uuidOf(id)}`
    expect((await show(id)).status).toBe('queued')
    await sql`update video_job set created_at = now() + interval '2 hours', deadline = deadline - interval '2 minutes'
      where id = ${uuidOf(id)}`
    expect(await show(id)).toMatchObject({ status: 'failed', error: { code: 'video_lost' } })
    expect(await balance()).toEqual(before)
  })

  test('and several processes share the work: each look is one process', async () => {
    const neighbours = await Promise.all([startNeighbour(gateway), startNeighbour(gateway)])
    const ids = await Promise.all(Array.from({ length: 6 }, async () => (await order('sora')).id))
    const before = maker.looks()
    maker.state = 'completed'
    for (const id of ids) await makeDue(id)
    await until(async () => {
      const jobs = await Promise.all(ids.map(jobOf))
      return jobs.every(({ money }) => money === 'charged')
    })
    expect(maker.looks() - before).toBe(ids.length)
    await Promise.all(neighbours.map(neighbour => neighbour.stop()))
  })
})

test('a maker whose answer has no end is not listened to for ever', async () => {
  const { id } = await order('sora')
  const { answer } = maker
  const body = endlessBody()
  maker.answer = () => new Response(body.stream)
  expect((await show(id)).status).toBe('queued')
  expect(body.megabytes).toBeLessThan(400)
  maker.answer = answer
})

test('a job is deleted thirty days after its end, and never while money is set aside for it', async () => {
  const [recent, old] = [await order('sora'), await order('sora')]
  maker.state = 'completed'
  for (const { id } of [recent, old]) expect((await show(id)).status).toBe('completed')
  maker.state = 'in_progress'
  const open = await order('sora')
  const { sql } = gateway.database
  await sql`update video_job set ended_at = now() - interval '29 days' where id = ${uuidOf(recent.id)}`
  await sql`update video_job set ended_at = now() - interval '30 days' where id in (${uuidOf(old.id)}, ${uuidOf(open.id)})`
  expect(await gateway.server.gateway.videos.sweep()).toBe(1)
  expect((await send('GET', `/v1/videos/${old.id}`)).status).toBe(404)
  expect(await jobOf(recent.id)).toBeDefined()
  expect(await jobOf(open.id)).toBeDefined()
  await gateway.server.flush()
  const report = await audit(gateway.database.url)
  expect(report.checks.filter(({ count }) => count > 0)).toEqual([])
})

describe('money', () => {
  test('is not enough: refused before the maker hears of it', async () => {
    const { key } = await openPayer(gateway.database, { creditNano: 100_000_000n })
    const body = { model: 'sora', prompt: 'a cat', seconds: '8' }
    const refused = await send('POST', '/v1/videos', body, { authorization: `Bearer ${key}` })
    expect(await readError(refused, 'chat')).toMatchObject({ status: 402, code: 'credit_exhausted' })
    expect(maker.seen).toHaveLength(0)
  })

  test('comes back when the order itself fails', async () => {
    const before = await balance()
    maker.state = 'broken'
    const failed = await send('POST', '/v1/videos', { model: 'sora', prompt: 'a cat' })
    expect(failed.status).toBe(502)
    // The hold may not even be committed yet.
    await gateway.server.flush()
    expect(await balance()).toEqual(before)
  })

  test('is per request where the price is, and none is refused', async () => {
    const before = await balance()
    const { id } = await order('by-request')
    maker.state = 'completed'
    expect((await show(id)).status).toBe('completed')
    expect(await balance()).toEqual({ ...before, balance: before.balance - 500_000_000n })
    const refused = await send('POST', '/v1/videos', { model: 'text', prompt: 'a cat' })
    expect(await readError(refused, 'chat')).toMatchObject({ status: 400, code: 'surface_not_supported' })
  })

  test.each([
    [0, 3],
    [2, 1],
  ])('is for what was made: %p of three films withheld', async (withheld, made) => {
    const before = await balance()
    const { name } = await orderAsGoogle('veo', { sampleCount: 3, durationSeconds: 4 })
    expect((await balance()).pending).toBe(before.pending + 2_400_000_000n)
    maker.withheld = withheld
    maker.state = 'completed'
    await makeDue(name)
    const operation: Body = await (await send('GET', `/v1beta/${name}`)).json()
    expect(operation.response.generateVideoResponse.generatedSamples).toHaveLength(made)
    expect(await balance()).toEqual({ ...before, balance: before.balance - BigInt(made) * 800_000_000n })
  })

  test('is by the prices of the order, whatever they are when it ends', async () => {
    const before = await balance()
    const { id } = await order('sora')
    await gateway.apply(config().replace('per_video_second: 0.1', 'per_video_second: 9'))
    maker.state = 'completed'
    expect((await show(id)).status).toBe('completed')
    expect(await balance()).toEqual({ ...before, balance: before.balance - 410_000_000n })
    await gateway.apply(config())
  })

  test.each(['lost', 'failed', 'broken'] as const)(
    'stays paid for a film that was made, though its process died before it closed the job and the maker has it %s by then',
    async state => {
      const before = await balance()
      const { sql } = gateway.database
      const { id } = await order('sora')
      await gateway.server.flush()
      // The database refuses what a process that dies would not have come to.
      await sql`create function refuse_close() returns trigger language plpgsql as $$
        begin raise exception 'not closed'; end $$`
      await sql`create trigger refuse_close before update on video_job for each row
        when (new.money <> old.money) execute function refuse_close()`
      maker.state = 'completed'
      await show(id)
      expect((await jobOf(id)).money).toBe('held')
      await sql`drop trigger refuse_close on video_job`
      await sql`drop function refuse_close`
      maker.state = state
      await sql`update video_job set deadline = now() - interval '1 second' where id = ${uuidOf(id)}`
      expect(await show(id)).toMatchObject({ status: 'completed' })
      expect((await jobOf(id)).money).toBe('charged')
      expect(await balance()).toEqual({ ...before, balance: before.balance - 410_000_000n })
      expect(await audited()).toBe(true)
    },
  )

  test('is set aside for a film whose process was taken for dead while its maker took the order', async () => {
    const before = await balance()
    const { answer } = maker
    maker.answer = async (request, signal) => {
      await until(async () => (await balance()).pending > before.pending)
      await gateway.database.sql`update hold set deadline = '-infinity'`
      await gateway.ledger.reap(3_600_000, 100)
      maker.answer = answer
      return answer(request, signal)
    }
    const { id } = await order('sora')
    expect((await balance()).pending).toBe(before.pending + 410_000_000n)
    await gateway.database
      .sql`update video_job set leased_until = null, created_at = now() - interval '3 seconds' where id = ${uuidOf(id)}`
    await gateway.server.flush()
    expect(await audited()).toBe(true)
  })

  test('stays set aside where nobody knows whether its job was stored, and it was', async () => {
    const before = await balance()
    const { videos } = gateway.server.gateway
    const { add } = videos
    videos.add = async (...job) => {
      await add(...job)
      throw new Error('the answer of the database is lost')
    }
    const failed = await send('POST', '/v1/videos', { model: 'sora', prompt: 'a cat' })
    videos.add = add
    expect(failed.status).toBe(500)
    await gateway.server.flush()
    expect(await balance()).toEqual({ ...before, pending: before.pending + 410_000_000n })
    const { data: jobs }: Body = await (await send('GET', '/v1/videos?limit=1')).json()
    const { id } = jobs[0]
    maker.state = 'completed'
    expect((await show(id)).status).toBe('completed')
    expect(await balance()).toEqual({ ...before, balance: before.balance - 410_000_000n })
    expect(await audited()).toBe(true)
  })

  test('is set aside for a film whose maker took the order while the database went away, and its caller gets it', async () => {
    const before = await balance()
    const { videos } = gateway.server.gateway
    const { add } = videos
    let tries = 0
    videos.add = (...job) => {
      tries += 1
      return tries < 3 ? Promise.reject(Object.assign(new Error('away'), { code: '57P01' })) : add(...job)
    }
    const { id } = await order('sora')
    videos.add = add
    expect(tries).toBe(3)
    await gateway.server.flush()
    expect((await balance()).pending).toBe(before.pending + 410_000_000n)
    maker.state = 'completed'
    expect((await show(id)).status).toBe('completed')
    expect(await balance()).toEqual({ ...before, balance: before.balance - 410_000_000n })
    expect(await audited()).toBe(true)
  })

  test('is set aside before its maker hears of it, also where there is plenty: it would make it all the same', async () => {
    // It is known then what the account has.
    await order('sora')
    maker.seen.length = 0
    const server = gateway.server.gateway
    const { ledger } = server
    let answered = false
    const durable = Promise.withResolvers<void>()
    server.ledger = {
      ...ledger,
      async hold(request) {
        const result = await ledger.hold(request)
        await durable.promise
        answered = true
        return result
      },
    }
    const { answer } = maker
    maker.answer = (request, signal) => {
      expect(answered).toBe(true)
      return answer(request, signal)
    }
    const { pending } = await balance()
    const ordered = order('sora')
    await until(async () => (await balance()).pending > pending)
    await (await fetch(`${gateway.opsUrl}/metrics`)).text()
    durable.resolve()
    await ordered
    maker.answer = answer
    server.ledger = ledger
    expect(maker.seen).toHaveLength(1)
  })

  test('is told within a minute by the result of an order that was stored after its film was charged', async () => {
    const { id } = await order('sora')
    await gateway.server.flush()
    const { sql } = gateway.database
    const elsewhere = Bun.randomUUIDv7()
    await sql`update exchange set id = ${elsewhere} where id = ${uuidOf(id)}`
    maker.state = 'completed'
    await show(id)
    await sql`update exchange set id = ${uuidOf(id)} where id = ${elsewhere}`
    const clock = manualClock()
    const watch = new VideoWatch(gateway.server.gateway, clock)
    const result = async () => {
      const [row] = await sql`select cost_nano, extras, cost_pico from exchange where id = ${uuidOf(id)}`
      return row
    }
    clock.advance(60_000)
    await until(async () => (await result())?.['cost_nano'] !== null)
    await watch.close()
    expect(await result()).toEqual({
      cost_nano: 410_000_000n,
      extras: { videoSeconds: 4 },
      cost_pico: '410000000000',
    })
    expect(await sql`select from entry where id = ${uuidOf(id)}`).toHaveLength(1)
    expect(await audited()).toBe(true)
  })

  test('is held once for an order that is repeated with its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const [one, other] = [await order('sora', {}, headers), await order('sora', {}, headers)]
    expect(other).toEqual(one)
    expect(maker.seen).toHaveLength(1)
  })
})

describe('what the maker is told', () => {
  const lastBody = () => JSON.parse(maker.lastBody())

  test.each<[JsonObject, JsonObject]>([
    [{}, { aspectRatio: '9:16', resolution: '720p', durationSeconds: 4 }],
    [
      { seconds: '8', size: '1280x720' },
      { aspectRatio: '16:9', resolution: '720p', durationSeconds: 8 },
    ],
    [
      { seconds: 12, size: '1792x1024' },
      { aspectRatio: '16:9', resolution: '1080p', durationSeconds: 12 },
    ],
  ])('of an order %j at Veo', async (body, parameters) => {
    await order('veo', body)
    expect(lastBody()).toEqual({ instances: [{ prompt: 'a cat' }], parameters })
    expect(maker.seen.at(-1)).toMatchObject({ path: '/v1beta/models/veo-3:predictLongRunning' })
  })

  test.each<[JsonObject, JsonObject]>([
    [{}, { seconds: '8', size: '1280x720' }],
    [
      { durationSeconds: 4, aspectRatio: '9:16' },
      { seconds: '4', size: '720x1280' },
    ],
    [{ resolution: '1080p' }, { seconds: '8', size: '1920x1080' }],
  ])('of an operation %j at Sora', async (parameters, body) => {
    await orderAsGoogle('sora', parameters)
    expect(lastBody()).toEqual({ model: 'sora-2', prompt: 'a cat', ...body })
  })

  test('of a picture', async () => {
    const image = { bytesBase64Encoded: 'AQID', mimeType: 'image/jpeg' }
    await send('POST', '/v1beta/models/sora:predictLongRunning', { instances: [{ prompt: 'a cat', image }] })
    expect(lastBody().input_reference).toEqual({ image_url: 'data:image/jpeg;base64,AQID' })
    await order('veo', { input_reference: { image_url: 'data:image/jpeg;base64,AQID' } })
    expect(lastBody().instances).toEqual([{ prompt: 'a cat', image }])
  })

  test('is all of it where it reads the same words, but for the name of the model', async () => {
    await order('sora', { size: 'any', novelty: [1] })
    expect(lastBody()).toEqual({ model: 'sora-2', prompt: 'a cat', size: 'any', novelty: [1] })
    await orderAsGoogle('film', { novelty: [1], negativePrompt: 'dogs' })
    expect(lastBody().parameters).toEqual({ novelty: [1], negativePrompt: 'dogs' })
  })

  test('is not what it has no word for, which the caller hears, or is refused over', async () => {
    const body = { model: 'veo', prompt: 'a cat', user: 'me' }
    const told = await send('POST', '/v1/videos', body)
    expect(told.headers.get('x-tollgate-losses')).toBe('user')
    const strict = await send('POST', '/v1/videos', body, { 'x-tollgate-strict': 'true' })
    expect(await readError(strict, 'chat')).toMatchObject({ status: 400, code: 'unsupported_parameter' })
    const google = {
      instances: [{ prompt: 'a cat', lastFrame: {}, image: { imageBytes: 'AA==', crop: 1 } }],
      parameters: { sampleCount: 2, seed: 1 },
      labels: {},
    }
    const lost = await send('POST', '/v1beta/models/sora:predictLongRunning', google)
    expect(lost.headers.get('x-tollgate-losses')).toBe(
      'instances[0].image.crop, instances[0].lastFrame, labels, parameters.sampleCount, parameters.seed',
    )
  })

  test.each<[JsonValue, string]>([
    ['16:9', 'parameters'],
    [{ aspectRatio: 'wide' }, 'parameters.aspectRatio'],
    [{ resolution: 'best' }, 'parameters.resolution'],
    [{ durationSeconds: 0 }, 'parameters.durationSeconds'],
    [{ sampleCount: 0 }, 'parameters.sampleCount'],
    [{ sampleCount: 100 }, 'parameters.sampleCount'],
  ])('is refused to whoever asks Google for what is no film: %j', async (parameters, param) => {
    const order = { instances: [{ prompt: 'a cat' }], parameters }
    const response = await send('POST', '/v1beta/models/sora:predictLongRunning', order)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(`Invalid value for '${param}'`)
  })

  test.each([
    ['1280x720', null],
    ['1080x1920', null],
    ['1792x1024', 'size'],
    ['1024x1024', 'size'],
  ])('is the nearest frame where Veo makes no %s, which is a loss', async (size, losses) => {
    const told = await send('POST', '/v1/videos', { model: 'veo', prompt: 'a cat', size })
    expect([told.status, told.headers.get('x-tollgate-losses')]).toEqual([200, losses])
  })

  test.each<[JsonObject, string]>([
    [{ seconds: 'soon' }, 'seconds'],
    [{ seconds: -1 }, 'seconds'],
    [{ size: 'big', model: 'veo' }, 'size'],
    [{ input_reference: 'cat.png', model: 'veo' }, 'input_reference'],
    [{ prompt: '', model: 'veo' }, 'prompt'],
    [{ model: '' }, 'model'],
  ])('is nothing of %j', async (body, param) => {
    const refused = await send('POST', '/v1/videos', { model: 'sora', prompt: 'a cat', ...body })
    expect(await readError(refused, 'chat')).toMatchObject({ status: 400, param })
    expect(maker.seen).toHaveLength(0)
  })

  test('is nothing of a form whose length its maker may read as another one than is paid for', async () => {
    const form = new FormData()
    for (const [name, value] of [
      ['model', 'sora'],
      ['prompt', 'a cat'],
      ['seconds', '12'],
      ['seconds', '4'],
    ] as const)
      form.append(name, value)
    const refused = await gateway.post('/v1/videos', form)
    expect(await readError(refused, 'chat')).toMatchObject({ status: 400, param: 'seconds' })
    expect(maker.seen).toHaveLength(0)
  })

  test('goes with the key that the order went with, and with no other', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { id } = await order('sora')
      await show(id)
      const [made, looked] = maker.seen.slice(-2)
      expect(looked?.method).toBe('GET')
      expect(looked?.headers.get('authorization')).toBe(made?.headers.get('authorization') ?? '')
    }
  })

  test('goes on where the operator has no model go through its channel any more', async () => {
    const before = await balance()
    const { id } = await order('sora')
    await gateway.apply(config().replaceAll('channel: sora, model: sora-2', 'channel: veo, model: veo-3'))
    maker.state = 'completed'
    expect(await show(id)).toMatchObject({ status: 'completed' })
    expect((await balance()).balance).toBe(before.balance - 410_000_000n)
    expect(await (await send('GET', `/v1/videos/${id}/content`)).text()).toBe('film')
    await gateway.apply(config())
  })

  test('goes on where the operator has given its channel another name', async () => {
    const { id } = await order('sora')
    const made = maker.seen.at(-1)?.headers.get('authorization') ?? ''
    const renamed = config().replaceAll(/(name|channel): sora,/g, '$1: sora-eu,')
    const keepsOther =
      '  - { name: other, format: openai-responses, base_url: "https://other.example", api_keys: ["x"] }\nmodels:'
    await gateway.database.sql`delete from channel where name = 'sora'`
    await gateway.apply(renamed.replace('models:', keepsOther))
    maker.state = 'completed'
    expect(await show(id)).toMatchObject({ status: 'completed' })
    expect(await (await send('GET', `/v1/videos/${id}/content`)).text()).toBe('film')
    expect((await send('POST', `/v1/videos/${id}/remix`, { prompt: 'a dog' })).status).toBe(200)
    const asked = maker.seen.filter(({ path }) => path.includes('/v1/videos/'))
    expect(asked.map(({ headers }) => headers.get('authorization'))).toEqual([made, made, made])
    await gateway.database.sql`delete from channel where name in ('sora-eu', 'other')`
    await gateway.apply(config())
  })

  test('is nothing once the operator took that key away; the money comes back at the deadline', async () => {
    const before = await balance()
    const { id } = await order('sora')
    const used = maker.seen.at(-1)?.headers.get('authorization')?.replace('Bearer ', '')
    const looks = maker.looks()
    await gateway.apply(config(used === 'first-key' ? '["second-key"]' : '["first-key"]'))
    expect((await show(id)).status).toBe('queued')
    expect(maker.looks()).toBe(looks)
    await gateway.database.sql`update video_job set deadline = now() where id = ${uuidOf(id)}`
    expect(await show(id)).toMatchObject({ status: 'failed', error: { code: 'video_expired' } })
    expect(await balance()).toEqual(before)
    await gateway.apply(config())
  })
})

describe('another account', () => {
  test.each<[string, 'chat' | 'gemini', (hex: string) => [string, string, JsonObject?]]>([
    ['retrieve', 'chat', hex => ['GET', `/v1/videos/video_${hex}`]],
    ['content', 'chat', hex => ['GET', `/v1/videos/video_${hex}/content`]],
    ['delete', 'chat', hex => ['DELETE', `/v1/videos/video_${hex}`]],
    ['remix', 'chat', hex => ['POST', `/v1/videos/video_${hex}/remix`, { prompt: 'a dog' }]],
    ['list after', 'chat', hex => ['GET', `/v1/videos?after=video_${hex}`]],
    ['operation', 'gemini', hex => ['GET', `/v1beta/models/sora/operations/${hex}`]],
    ['operation of v1', 'gemini', hex => ['GET', `/v1/models/sora/operations/${hex}`]],
    ['file', 'gemini', hex => ['GET', `/v1beta/files/${hex}:download?alt=media`]],
  ])('gets the same 404 for a video of this one and for none: %s', async (_, surface, call) => {
    const { id } = await order('sora')
    maker.state = 'completed'
    await show(id)
    const { key } = await openPayer(gateway.database)
    const seen = maker.seen.length
    const texts: string[] = []
    for (const hex of [id.replace('video_', ''), crypto.randomUUID().replaceAll('-', '')]) {
      const [method, path, body] = call(hex)
      const refused = await send(method, path, body, { authorization: `Bearer ${key}` })
      const told = await readError(refused, surface)
      expect(told).toMatchObject({ status: 404, code: 'not_found' })
      texts.push(told.message.replace(/\(request id.*/, ''))
    }
    expect(texts[0]).toBe(texts[1] ?? '')
    expect(maker.seen).toHaveLength(seen)
    const list: Body = await (
      await send('GET', '/v1/videos', undefined, { authorization: `Bearer ${key}` })
    ).json()
    expect(list).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false })
    // It is there for its owner, with another key as well.
    const own = await gateway.keys.createKey({ accountId: gateway.accountId, name: '' })
    const found = await send('GET', `/v1/videos/${id}`, undefined, { authorization: `Bearer ${own.key}` })
    expect(found.status).toBe(200)
  })
})

test("a video is the same by either vendor's words, and keeps what its maker says beside", async () => {
  const { id } = await order('sora', { seconds: '8' })
  maker.state = 'in_progress'
  expect(await show(id)).toMatchObject({ id, status: 'in_progress', progress: 40, maker_says: 'hello' })
  const hex = id.replace('video_', '')
  const operation: Body = await (await send('GET', `/v1beta/models/sora/operations/${hex}`)).json()
  expect(operation).toEqual({ name: `models/sora/operations/${hex}` })
  const { name } = await orderAsGoogle('film')
  expect(name).toStartWith('models/film/operations/')
  const veo = name.replace('models/film/operations/', 'video_')
  expect(await show(veo)).toMatchObject({ id: veo, status: 'in_progress', progress: 0, model: 'film' })
})

test("why a video was not made is told in either vendor's words", async () => {
  const sora = await order('sora')
  const { name } = await orderAsGoogle('veo')
  maker.state = 'failed'
  await Promise.all([makeDue(sora.id), makeDue(name)])
  const hex = sora.id.replace('video_', '')
  const operation: Body = await (await send('GET', `/v1beta/models/sora/operations/${hex}`)).json()
  expect(operation).toEqual({
    name: `models/sora/operations/${hex}`,
    done: true,
    error: { code: 3, message: 'no' },
  })
  expect(await show(name.replace('models/veo/operations/', 'video_'))).toMatchObject({
    status: 'failed',
    completed_at: null,
    error: { code: 'video_generation_failed', message: 'no' },
  })
})

test('a video that is deleted while it is made is paid when it is made, and then deleted at its maker', async () => {
  const before = await balance()
  const { id } = await order('sora')
  expect((await send('DELETE', `/v1/videos/${id}`)).status).toBe(200)
  expect((await send('GET', `/v1/videos/${id}`)).status).toBe(404)
  maker.state = 'completed'
  await makeDue(id)
  await until(() => maker.seen.some(({ method }) => method === 'DELETE'))
  expect(await balance()).toEqual({ ...before, balance: before.balance - 410_000_000n })
})

test('a video that is deleted when it is made is deleted at its maker', async () => {
  const { id } = await order('sora')
  maker.state = 'completed'
  expect((await show(id)).status).toBe('completed')
  const before = maker.seen.length
  expect((await send('DELETE', `/v1/videos/${id}`)).status).toBe(200)
  expect(maker.seen.slice(before).map(({ method }) => method)).toEqual(['DELETE'])
})

describe('content', () => {
  async function made(model: string): Promise<string> {
    const { id } = await order(model)
    maker.state = 'completed'
    expect((await show(id)).status).toBe('completed')
    return id
  }

  test.each(['sora', 'veo'])(
    'is asked of %s by the same range and variant, and told as the maker tells it',
    async model => {
      const id = await made(model)
      maker.film = ({ headers }) =>
        new Response('ilm', {
          status: 206,
          headers: {
            'content-type': 'video/mp4',
            'content-range': `bytes 1-3/4 ${headers.get('range')}`,
            'accept-ranges': 'bytes',
            etag: '"e"',
            'x-secret': 'of the maker',
            'set-cookie': 'a=b',
          },
        })
      const response = await send('GET', `/v1/videos/${id}/content?variant=video`, undefined, {
        range: 'bytes=1-3',
      })
      expect(response.status).toBe(206)
      expect(await response.text()).toBe('ilm')
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'video/mp4',
        'content-range': 'bytes 1-3/4 bytes=1-3',
        'accept-ranges': 'bytes',
        etag: '"e"',
      })
      expect(response.headers.get('x-secret')).toBeNull()
      expect(response.headers.get('set-cookie')).toBeNull()
      const asked = maker.seen.at(-1)
      expect(asked?.query).toBe(model === 'sora' ? '?variant=video' : '?alt=media')
    },
  )

  test('has variants where its maker has', async () => {
    const [sora, veo] = [await made('sora'), await made('veo')]
    expect((await send('GET', `/v1/videos/${sora}/content?variant=thumbnail`)).status).toBe(200)
    expect(maker.seen.at(-1)?.query).toBe('?variant=thumbnail')
    const refused = await send('GET', `/v1/videos/${veo}/content?variant=thumbnail`)
    expect(await readError(refused, 'chat')).toMatchObject({ status: 400, param: 'variant' })
  })

  test('is not there before it is made, nor beyond its end', async () => {
    const { id } = await order('sora')
    expect((await readError(await send('GET', `/v1/videos/${id}/content`), 'chat')).status).toBe(404)
    const film = await made('sora')
    maker.film = () => new Response('{"error":{"message":"no such range"}}', { status: 416 })
    const beyond = await send('GET', `/v1/videos/${film}/content`, undefined, { range: 'bytes=9-' })
    expect(beyond.status).toBe(416)
  })

  test('is several films of Veo, each at its own address', async () => {
    const { name } = await orderAsGoogle('veo', { sampleCount: 2 })
    maker.state = 'completed'
    await makeDue(name)
    const operation: Body = await (await send('GET', `/v1beta/${name}`)).json()
    const uris = operation.response.generateVideoResponse.generatedSamples.map(
      ({ video }: Body) => new URL(video.uri),
    )
    for (const [index, uri] of uris.entries()) {
      expect(uri.origin).toBe(gateway.url)
      expect((await send('GET', uri.pathname + uri.search)).status).toBe(200)
      expect(maker.seen.at(-1)?.path).toBe(`/v1beta/files/f${index}:download`)
      expect(maker.seen.at(-1)?.headers.get('x-goog-api-key')).toBe('google-key')
    }
    const file = `${uris[0].pathname.replace(':download', '')}`
    expect((await send('GET', `${file}n7:download`)).status).toBe(404)
    expect((await send('GET', file)).status).toBe(404)
  })

  test('is not fetched on for a caller who left', async () => {
    const id = await made('sora')
    let closed = false
    maker.film = (_, signal) => {
      signal.addEventListener('abort', () => {
        closed = true
      })
      return new Response(
        new ReadableStream({
          async pull(controller) {
            await Bun.sleep(1)
            controller.enqueue(new Uint8Array(64 * 1024))
          },
        }),
      )
    }
    const leave = async () => {
      closed = false
      const leaving = new AbortController()
      const response = await fetch(`${gateway.url}/v1/videos/${id}/content`, {
        headers: { authorization: `Bearer ${gateway.key}` },
        signal: leaving.signal,
      })
      await response.body?.getReader().read()
      leaving.abort()
      return until(() => closed)
    }
    expect(await least(1000, leave)).toBeLessThan(1000)
  })

  test('breaks off once the key is revoked by which it is fetched', async () => {
    const id = await made('sora')
    const begun = Promise.withResolvers<AbortSignal>()
    maker.film = (_, signal) => {
      begun.resolve(signal)
      const fed = fedStream()
      fed.write('the first of it')
      return new Response(fed.stream)
    }
    const other = await gateway.keys.createKey({ accountId: gateway.accountId, name: '' })
    const response = await fetch(`${gateway.url}/v1/videos/${id}/content`, {
      headers: { authorization: `Bearer ${other.key}` },
    })
    const rest = response.text()
    const signal = await begun.promise
    await gateway.keys.revokeKey(other.id)
    await expect(rest).rejects.toThrow()
    await until(() => signal.aborted)
  })

  test('has its length told to a HEAD, for which it is not read', async () => {
    const id = await made('sora')
    maker.film = () => new Response('film', { headers: { 'content-type': 'video/mp4' } })
    const head = await send('HEAD', `/v1/videos/${id}/content`)
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe('4')
    let closed = false
    maker.film = () =>
      new Response(
        new ReadableStream({
          pull: controller => controller.enqueue(new Uint8Array(64 * 1024)),
          cancel() {
            closed = true
          },
        }),
      )
    expect((await send('HEAD', `/v1/videos/${id}/content`)).status).toBe(200)
    await until(() => closed)
  })

  test('that breaks off at the maker breaks off at the caller', async () => {
    const id = await made('sora')
    const begun = Promise.withResolvers<void>()
    maker.film = ({ query }) => {
      // An address with a signature, which Bun would print.
      if (!query.includes('signature'))
        return Response.redirect(`${maker.url}/v1/videos/signed/content?signature=secret`, 302)
      return new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(new Uint8Array(1024))
            await begun.promise
            controller.error(null)
          },
        }),
      )
    }
    const response = await send('GET', `/v1/videos/${id}/content`)
    expect(response.status).toBe(200)
    begun.resolve()
    await expect(response.arrayBuffer()).rejects.toThrow()
  })
})
