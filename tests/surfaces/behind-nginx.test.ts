import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { eventStream, fedStream, scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'
import { START_MS } from './calls.ts'

const EXAMPLE = readFileSync(join(import.meta.dir, '../../examples/nginx.conf'), 'utf8')
const hasNginx = Bun.which('nginx') !== null

if (!hasNginx) {
  test('LOUD: examples/nginx.conf was NOT tested, there is no nginx', () => {
    console.error('\n*** nginx: not here, so the example of it was not tested ***\n')
  })
}

/** The example as it is, but for where it listens and the certificate. */
function siteOf(socket: string, upstream: string): string {
  return EXAMPLE.replace('127.0.0.1:8080', upstream)
    .replace('listen 443 ssl http2', `listen unix:${socket}`)
    .replaceAll(/ssl_certificate.*\n/g, '')
}

describe.skipIf(!hasNginx)('behind nginx as examples/nginx.conf has it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-nginx-'))
  const socket = join(directory, 'socket')
  const upstream = scriptedUpstream(simulated)
  let gateway: TestGateway
  let nginx: Bun.Subprocess

  beforeAll(async () => {
    gateway = await startTestGateway({ maxBodyBytes: 3_000_000, upstreams: upstream.url })
    mkdirSync(join(directory, 'temp'))
    const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${directory}/temp/${name};`,
    )
    const file = join(directory, 'nginx.conf')
    writeFileSync(
      file,
      `daemon off; master_process off; pid ${directory}/pid; error_log stderr error;
       events {} http { access_log off; ${places.join(' ')} ${siteOf(socket, new URL(gateway.url).host)} }`,
    )
    nginx = Bun.spawn(['nginx', '-e', 'stderr', '-p', directory, '-c', file], { stderr: 'inherit' })
    await until(() =>
      call('GET', '/v1/models').then(
        ({ ok }) => ok,
        () => false,
      ),
    )
  }, START_MS)

  afterAll(async () => {
    nginx.kill('SIGKILL')
    await nginx.exited
    await gateway.close()
    await upstream.stop()
    rmSync(directory, { recursive: true })
  })

  const call = (method: string, path: string, body?: string) =>
    fetch(`http://localhost${path}`, {
      method,
      unix: socket,
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    })

  const chat = (model: string, text: string) =>
    JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: text }] })

  test('a stream arrives as it is written', async () => {
    const fed = fedStream()
    upstream.answer = () => eventStream(fed.stream)
    fed.write('data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"one"}}]}\n\n')
    const answer = await call('POST', '/v1/chat/completions', chat('chat/echo', 'hi'))
    const reader = answer.body?.getReader()
    const first = await reader?.read()
    expect(new TextDecoder().decode(first?.value)).toContain('one')
    expect(gateway.server.gateway.open.size).toBe(1)
    await reader?.cancel()
    upstream.answer = simulated
  })

  test('a body that nginx itself would refuse is served, and a larger one refused in words', async () => {
    const served = await call('POST', '/v1/chat/completions', chat('chat/echo', 'x'.repeat(2_000_000)))
    expect(await served.text()).toEndWith('data: [DONE]\n\n')
    const refused = await call('POST', '/v1/chat/completions', chat('chat/echo', 'x'.repeat(4_000_000)))
    expect(refused.status).toBe(413)
    expect(await refused.json()).toMatchObject({ error: { code: 'body_too_large' } })
  })

  test('a model whose name has a slash is found in the path', async () => {
    const path = '/v1beta/models/gemini%2Fecho:generateContent'
    const answer = await call('POST', path, JSON.stringify({ contents: [{ parts: [{ text: 'hello' }] }] }))
    expect(await answer.json()).toMatchObject({ candidates: [{ content: { parts: [{ text: 'hello' }] } }] })
  })
})
