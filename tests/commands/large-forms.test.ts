import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { type ServerProcess, spawnServer } from '#tests/support/gateway/serve-process.ts'
import { least } from '#tests/support/least.ts'
import { SECRET } from '#tests/support/secret.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'

const MEGABYTE = 1024 * 1024
/** Twice what the documentation speaks of: whoever held all of it would be far beyond the bound, whatever else there is. */
const LARGE = 60 * MEGABYTE

/** An upstream that keeps nothing of what it is sent but its length. */
const seen: { path: string; bytes: number; declared: number }[] = []
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  async fetch(request) {
    let bytes = 0
    for await (const chunk of request.body ?? []) bytes += chunk.length
    const path = new URL(request.url).pathname
    seen.push({ path, bytes, declared: Number(request.headers.get('content-length')) })
    return path.startsWith('/v1beta')
      ? Response.json({
          candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] } }],
        })
      : Response.json({ created: 1, data: [{ b64_json: 'AA==' }] })
  },
})

let database: TestDatabase
let key: string
const directory = mkdtempSync(join(tmpdir(), 'tollgate-large-'))
const file = join(directory, 'large.png')

beforeAll(async () => {
  database = await testDatabase()
  key = (await openPayer(database)).key
  await Bun.write(file, Buffer.alloc(LARGE, 'not quite a picture '))
}, 120_000)
afterAll(async () => {
  await database.close()
  await upstream.stop(true)
  rmSync(directory, { recursive: true, force: true })
}, 120_000)

function start(): Promise<ServerProcess> {
  return spawnServer({
    env: { DATABASE_URL: database.url, TOLLGATE_SECRET: SECRET },
    config: `channels:
  - { name: openai, format: openai-responses, base_url: "http://127.0.0.1:${upstream.port}", api_keys: [k], allow_private: true }
  - { name: gemini, format: gemini-generate-content, base_url: "http://127.0.0.1:${upstream.port}", api_keys: [k], allow_private: true }
models:
  - { id: openai, channels: [{ channel: openai, model: gpt-image }], prices: { per_image: { default: 0.01 } } }
  - { id: gemini, channels: [{ channel: gemini, model: gemini-image }], prices: { per_image: { default: 0.01 } } }
`,
  })
}

/** Sends a file by curl, so that the memory of the client is another process's. */
async function edit(
  server: ServerProcess,
  model: string,
  path: string,
): Promise<{ status: number; body: string }> {
  const child = Bun.spawn([
    'curl',
    '-sS',
    `${server.apiUrl}/v1/images/edits`,
    ...['-H', `authorization: Bearer ${key}`, '-H', 'expect:'],
    ...['-F', `image=@${path};type=image/png`, '-F', `model=${model}`, '-F', 'prompt=brighter'],
    ...['-w', '\n%{http_code}'],
  ])
  const text = await new Response(child.stdout).text()
  const at = text.lastIndexOf('\n')
  return { status: Number(text.slice(at + 1)), body: text.slice(0, at) }
}

/** The most memory that the server had while something was done, over what it had before, in MB. */
async function growthDuring(server: ServerProcess, work: () => Promise<unknown>): Promise<number> {
  const before = await server.residentMb()
  let most = before
  let isRunning = true
  const watching = (async () => {
    while (isRunning) {
      most = Math.max(most, await server.residentMb())
      await Bun.sleep(5)
    }
  })()
  await work().finally(() => {
    isRunning = false
  })
  await watching
  return most - before
}

describe.skipIf(process.platform !== 'linux').each([
  ['an upstream of the same format', 'openai', '/v1/images/edits', LARGE],
  ['one that takes base64 in JSON', 'gemini', '/v1beta/models/gemini-image:generateContent', (LARGE * 4) / 3],
])('a 60 MB image edit to %s', (_, model, path, leastBytes) => {
  test('arrives whole, with its length declared, and takes less than 50 MB of memory', async () => {
    const small = join(directory, 'small.png')
    await Bun.write(small, Buffer.alloc(MEGABYTE, 'x'))
    const editThreeTimes = async (server: ServerProcess, path: string) => {
      for (let round = 0; round < 3; round += 1) {
        const { status, body } = await edit(server, model, path)
        expect([status, body]).toEqual([200, expect.stringContaining('"b64_json":"AA=="')])
      }
    }
    // What a server has taken from the system once it may keep: each measurement is of a new one.
    const growth = async () => {
      const server = await start()
      await editThreeTimes(server, small)
      seen.length = 0
      const grown = await growthDuring(server, () => editThreeTimes(server, file))
      await server.close()
      return grown
    }
    expect(await least(50, growth)).toBeLessThan(50)
    expect(seen.map(request => request.path)).toEqual([path, path, path])
    for (const request of seen) {
      expect(request.bytes).toBeGreaterThanOrEqual(leastBytes)
      expect(request.declared).toBe(request.bytes)
    }
  }, 120_000)
})
