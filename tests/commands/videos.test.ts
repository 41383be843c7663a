import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import type { Payer } from '#tests/support/gateway/payer.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { type VideoMaker, videoMaker } from '#tests/support/upstreams/video-maker.ts'

const FILM_BYTES = 200 * 1024 * 1024
const PIECE = new Uint8Array(64 * 1024)

let maker: VideoMaker
let fleet: Fleet
let payer: Payer

beforeAll(async () => {
  maker = videoMaker()
  fleet = await startFleet({
    gateways: 2,
    config: `channels:
  - { name: sora, format: openai-responses, base_url: "${maker.url}", api_keys: [k], allow_private: true }
  - { name: veo, format: gemini-generate-content, base_url: "${maker.url}", api_keys: [k], allow_private: true }
models:
  - { id: sora, channels: [{ channel: sora, model: sora-2 }], prices: { per_video_second: 0.1 } }
  - { id: veo, channels: [{ channel: veo, model: veo-3 }], prices: { per_video_second: 0.1 } }
`,
  })
  payer = await fleet.payer(100_000_000_000n)
}, 120_000)
afterAll(async () => {
  await fleet?.close()
  await maker?.stop()
}, 120_000)

function call(index: number, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${fleet.gateways[index]?.apiUrl}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${payer.key}`, 'content-type': 'application/json' },
  })
}

async function order(index: number, model: string): Promise<string> {
  const body = JSON.stringify({ model, prompt: 'a cat', seconds: '4' })
  const response = await call(index, '/v1/videos', { method: 'POST', body })
  const { id } = (await response.json()) as { id: string }
  return id
}

async function statusOf(index: number, id: string): Promise<string> {
  const response = await call(index, `/v1/videos/${id}`)
  const { status } = (await response.json()) as { status: string }
  return status
}

async function entriesOf(id: string) {
  const hex = id.replace('video_', '')
  const rows = await fleet.database.sql<{ kind: string; amount: bigint; ref: string | null }[]>`
    select kind, amount, ref from entry where id = ${hex}::uuid`
  return [...rows]
}

test('content of 200 MB passes with flat memory, whoever made it', async () => {
  maker.film = () => {
    let left = FILM_BYTES
    return new Response(
      new ReadableStream(
        {
          pull(controller) {
            if (left <= 0) return controller.close()
            left -= PIECE.length
            controller.enqueue(PIECE)
          },
        },
        { highWaterMark: 0 },
      ),
      { headers: { 'content-type': 'video/mp4' } },
    )
  }
  maker.state = 'completed'
  const gateway = fleet.gateways[1]
  for (const model of ['sora', 'veo']) {
    const id = await order(1, model)
    await until(async () => (await statusOf(1, id)) === 'completed')
    const before = (await gateway?.residentMb()) ?? 0
    let most = before
    let bytes = 0
    const response = await call(1, `/v1/videos/${id}/content`)
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      // A reader with something else to do now and then.
      if (Math.floor(bytes / 1e6) % 10 === 0) {
        await Bun.sleep(1)
        most = Math.max(most, (await gateway?.residentMb()) ?? 0)
      }
    }
    expect(bytes).toBe(FILM_BYTES)
    expect(most - before).toBeLessThan(50)
  }
}, 120_000)

test('a job whose process is killed is seen to its end by another, and charged once', async () => {
  maker.state = 'in_progress'
  const [made, failing] = [await order(0, 'sora'), await order(0, 'veo')]
  const killed = fleet.kill(0)
  await killed.dead
  await killed.replaced
  await fleet.buryDead()
  // The reaper has been by, and left the holds of the jobs.
  await Bun.sleep(5_000)
  expect(await fleet.holds()).toBe(2)
  expect((await fleet.audit()).ok).toBe(true)

  maker.state = 'completed'
  await fleet.database.sql`update video_job set look_at = now(), leased_until = null
    where id = ${made.replace('video_', '')}::uuid`
  await until(async () => (await entriesOf(made)).length > 0)
  await until(async () => (await statusOf(1, made)) === 'completed')
  expect(await entriesOf(made)).toEqual([{ kind: 'usage', amount: -400_000_000n, ref: null }])
  expect((await call(1, `/v1/videos/${made}/content`, { method: 'GET' })).status).toBe(200)

  maker.state = 'failed'
  await until(async () => ['completed', 'failed'].includes(await statusOf(1, failing)))
  await until(async () => (await fleet.holds()) === 0)
  // It may have been found made while the other one was.
  const charged = await entriesOf(failing)
  expect(charged.length).toBe((await statusOf(1, failing)) === 'completed' ? 1 : 0)
  expect((await fleet.audit()).ok).toBe(true)
}, 120_000)
