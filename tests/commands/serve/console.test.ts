import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type ServerProcess, spawnServer } from '#tests/support/gateway/serve-process.ts'
import { SECRET } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'

const MAIN = join(import.meta.dir, '../../../src/main.ts')
const database = await fileDatabase()
const env = { DATABASE_URL: database.url, TOLLGATE_SECRET: SECRET }

function post(server: ServerProcess, path: string, body: object): Promise<Response> {
  return fetch(`${server.consoleUrl}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { origin: server.consoleUrl, 'content-type': 'application/json' },
  })
}

async function invite(...words: string[]) {
  const child = Bun.spawn([process.execPath, MAIN, 'admin', 'invite', ...words], {
    env: { PATH: process.env['PATH'], ...env, PUBLIC_CONSOLE_URL: 'https://console.example.com/' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return { exitCode: await child.exited, stdout: await child.stdout.text() }
}

test('the printed link makes the first owner, once; then none is printed, and admin invite makes more', async () => {
  const first = await spawnServer({ env })
  const token = /\/link#([\w-]{43})/.exec(first.output())?.[1] ?? ''
  expect(first.output()).toContain(`${first.consoleUrl}/link#${token}`)
  const accept = { token, email: 'owner@example.com', password: 'a good password' }
  const accepted = await post(first, '/api/links/accept', accept)
  expect(await accepted.json()).toMatchObject({ user: { email: 'owner@example.com', role: 'owner' } })
  expect((await post(first, '/api/links/accept', accept)).status).toBe(404)
  await first.close()

  const second = await spawnServer({ env })
  expect(second.output()).not.toContain('/link#')
  const { exitCode, stdout } = await invite('--email', 'Second@Example.com', '--json')
  expect(exitCode).toBe(0)
  const { url } = JSON.parse(stdout)
  expect(url).toMatch(/^https:\/\/console\.example\.com\/link#[\w-]{43}$/)
  const body = { token: url.split('#')[1], password: 'a good password' }
  const invited = await post(second, '/api/links/accept', body)
  expect(await invited.json()).toMatchObject({ user: { email: 'second@example.com', role: 'owner' } })
  await second.close()
  expect((await invite('--email', 'nobody')).exitCode).toBe(2)
}, 120_000)
