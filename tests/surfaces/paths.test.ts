import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { CALLS, readError, SURFACES, type Surface } from './calls.ts'

const gateway = await fileGateway({ responsesWebSocket: false })

/** An answer as its bytes say it. */
interface RawAnswer {
  status: number
  headers: Headers
  text: string
}

/** Sends bytes that no client library would. */
async function sendRaw(text: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', chunk => {
    received += chunk.toString('utf8')
  })
  const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
  socket.on('error', () => {})
  socket.write(text)
  await closed
  const end = received.indexOf('\r\n\r\n')
  const [first = '', ...lines] = received.slice(0, end).split('\r\n')
  const pairs = lines.map(line => [
    line.slice(0, line.indexOf(':')),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return {
    status: Number(first.split(' ')[1]),
    headers: new Headers(pairs as [string, string][]),
    text: received.slice(end + 4),
  }
}

function rawCall(line: string, headers: readonly string[], body = ''): Promise<RawAnswer> {
  const all = [
    line,
    ...headers,
    'connection: close',
    ...(body === '' ? [] : [`content-length: ${body.length}`]),
  ]
  return sendRaw(`${all.join('\r\n')}\r\n\r\n${body}`)
}

async function expectUnknownPath(response: Response, surface: Surface = 'chat'): Promise<void> {
  expect(response.status).toBe(404)
  const error = await readError(response, surface)
  expect(error).toMatchObject({ code: 'unknown_path', param: null })
}

describe('an unknown path', () => {
  test.each([
    '/',
    '/chat/completions',
    '/completions',
    '/v1',
    '/v1/',
    '/v1/completions',
    '/v1/chat',
    '/v1/chat/completions/',
    '/v1/chat/completions/x',
    '/v1/chat/completionsx',
    '/v1/chat/completions%20',
    '/v1/Chat/Completions',
    '/V1/chat/completions',
    '/v1%2Fchat/completions',
    '/v1/%zz',
    '/v1/messages/',
    '/v1/messages/batches',
    '/v1/messages/count_tokens/x',
    '/v1/messagesx',
    '/v1/responses/input_tokens/x',
    '/v2/models',
    '/v1/files',
    '/v1/fine_tuning/jobs',
    '/v1beta',
    '/v1beta/tunedModels/x:generateContent',
    '/v1beta/files/x',
    '/v1alpha/operations/x',
    '/openai/deployments/x/chat/completions',
    '/healthz',
    '/readyz',
    '/metrics',
    '/console',
    '/api/login',
    '/.env',
    '/favicon.ico',
    '/robots.txt',
    '/index.html',
  ])('%s is a JSON 404 for every method, with a key and without', async path => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const headers of [{}, { authorization: `Bearer ${gateway.key}` }, { authorization: 'nonsense' }]) {
        await expectUnknownPath(await fetch(gateway.url + path, { method, headers }))
      }
    }
  })

  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is no method of the calls', async method => {
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens'])
      await expectUnknownPath(await fetch(gateway.url + path, { method }))
  })

  test.each(['POST', 'PUT', 'PATCH', 'OPTIONS'])('%s is no method of the model list', async method => {
    await expectUnknownPath(await fetch(`${gateway.url}/v1/models`, { method }))
  })

  test.each([
    '/v1beta/models/gemini/echo',
    '/v1beta/models/gemini/echo:',
    '/v1beta/models/gemini/echo:generate',
    '/v1beta/models/gemini/echo:generateContentX',
    '/v1beta/models/gemini/echo:generateContent/x',
    '/v1beta/models/:generateContent',
    '/v1/models/chat/echo:nothing',
    '/v1alpha/models/gemini/echo:bidiGenerateContent',
  ])("POST %s is one, in OpenAI's shape like every other", async path => {
    for (const headers of [{}, { 'x-goog-api-key': gateway.key }, { 'idempotency-key': path }]) {
      await expectUnknownPath(await fetch(gateway.url + path, { method: 'POST', headers, body: '{}' }))
    }
  })

  test.each([
    '/v1/models/',
    '/v1beta/models/',
    '/v1beta/files/',
    '/v1beta/files/x:upload',
    '/v1beta/models/gemini/echo:generateContent',
    '/v1/models/gemini%2Fecho%3AcountTokens',
  ])('GET %s is one, with a key and without', async path => {
    for (const headers of [{}, { 'x-goog-api-key': gateway.key }, { authorization: 'Bearer nonsense' }]) {
      await expectUnknownPath(await fetch(gateway.url + path, { headers }))
    }
  })

  test.each(['//v1/chat/completions', '/v1//chat/completions', '///v1/responses', 'v1/chat/completions'])(
    '%s is one on the wire too',
    async path => {
      for (const host of ['host: localhost', 'host: x', 'host:', 'host: x:y']) {
        const answer = await rawCall(
          `POST ${path} HTTP/1.1`,
          [host, `authorization: Bearer ${gateway.key}`],
          '{}',
        )
        expect([400, 404]).toContain(answer.status)
        if (answer.status === 404) expect(JSON.parse(answer.text).error.code).toBe('unknown_path')
        else expect(answer.text).toBe('')
      }
    },
  )

  test.each(['/v1\\chat\\completions', '/v1/x/../chat/completions', '/v1/%2e%2e/v1/./chat/completions'])(
    '%s is none: it is read as browsers write addresses, and is no way past a key',
    async path => {
      const body = JSON.stringify({ model: 'chat/echo', messages: [{ role: 'user', content: 'hi' }] })
      const call = (...headers: string[]) => rawCall(`POST ${path} HTTP/1.1`, ['host: x', ...headers], body)
      expect((await call(`authorization: Bearer ${gateway.key}`)).status).toBe(200)
      expect((await call()).status).toBe(401)
    },
  )

  test('is no trace of what the console or the ops listener serve', async () => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text()
    expect(text).not.toContain('tollgate_')
  })
})

test("an unknown path tells Anthropic's clients the id of the request where they look for it, and nobody else", async () => {
  const ask = (headers: Record<string, string>) => fetch(`${gateway.url}/v1/messages/batches`, { headers })
  const told = (await ask({ 'anthropic-version': '2023-06-01' })).headers
  expect(told.get('request-id')).toBeString()
  expect(told.get('request-id')).toBe(told.get('x-request-id'))
  expect((await ask({})).headers.get('request-id')).toBeNull()
})

describe('the message of an unknown path', () => {
  const messageAt = async (method: string, path: string): Promise<string> => {
    const response = await fetch(`${gateway.url}${path}`, { method })
    return (await readError(response, 'chat')).message
  }

  test('names the method and the path, so that a caller sees where its client went', async () => {
    expect(await messageAt('GET', '/v1/chat/completions?key=sk-abc')).toStartWith(
      'Nothing is served at GET /v1/chat/completions (request id: ',
    )
    expect(await messageAt('POST', '/v1/files')).toStartWith('Nothing is served at POST /v1/files (')
  })

  test.each(['/chat/completions', '/responses', '/embeddings', '/models', '/audio/speech', '/messages'])(
    'says at %s that the base address lacks /v1',
    async path => expect(await messageAt('POST', path)).toContain('; the path begins with /v1, so'),
  )

  test('says where Gemini is called that the base address lacks /v1beta', async () => {
    const told = await messageAt('POST', '/models/chat/echo:generateContent')
    expect(told).toContain('; the path begins with /v1beta, so')
  })

  test.each(['/v1/v1/messages', '/v1/v1beta/models/demo:generateContent', '/v1beta/v1/models/demo'])(
    'says at %s that the version is there twice',
    async path => expect(await messageAt('POST', path)).toContain('; the version is in the path twice'),
  )

  test.each(['/v1/chat/completions/chat/completions', '/v1/messages/v1/messages', '/v1/responses/models'])(
    'says at %s that a whole call is the base address',
    async path => expect(await messageAt('POST', path)).toContain('; two calls are in the path: the base'),
  )

  test.each(['//v1/chat/completions', '/v1//messages', '//v1beta/models/demo:generateContent'])(
    'says at %s that the base address ends in a slash',
    async path => {
      const told = await rawCall(`POST ${path} HTTP/1.1`, ['host: localhost', 'content-length: 0'])
      expect(told.status).toBe(404)
      expect(told.text).toContain('; two slashes stand side by side')
    },
  )

  test('stays short whatever the path is', async () => {
    expect((await messageAt('POST', `/v1/${'x'.repeat(5000)}`)).length).toBeLessThan(250)
  })
})

describe('HEAD', () => {
  test.each(['/api/hello', '/', '/nowhere', '/v1/chat/completions', '/v1/responses'])(
    '%s is a 404 with the headers of a small JSON and no body',
    async path => {
      const answer = await rawCall(`HEAD ${path} HTTP/1.1`, ['host: localhost'])
      expect(answer.status).toBe(404)
      expect(answer.headers.get('content-type')).toStartWith('application/json')
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(300)
      expect(answer.text).toBe('')
    },
  )

  test('of the model list needs a key as GET does', async () => {
    const head = (headers: Record<string, string>) =>
      fetch(`${gateway.url}/v1/models`, { method: 'HEAD', headers })
    expect((await head({})).status).toBe(401)
    expect((await head({ authorization: `Bearer ${gateway.key}` })).status).toBe(200)
  })
})

describe('GET /v1/responses', () => {
  test('without an upgrade is a JSON 404', async () => {
    for (const headers of [{}, { authorization: `Bearer ${gateway.key}` }]) {
      await expectUnknownPath(await fetch(`${gateway.url}/v1/responses`, { headers }), 'responses')
    }
  })

  test.each(['websocket', 'WebSocket'])(
    'with an upgrade to %s is a JSON 426 where it is switched off',
    async upgrade => {
      const answer = await rawCall('GET /v1/responses HTTP/1.1', [
        'host: localhost',
        `authorization: Bearer ${gateway.key}`,
        `upgrade: ${upgrade}`,
        'connection: Upgrade',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      ])
      expect(answer.status).toBe(426)
      const { status, headers, text } = answer
      const error = await readError(new Response(text, { status, headers }), 'responses')
      expect(error.code).toBe('websocket_unsupported')
    },
  )
})

describe('the Host header', () => {
  const HOSTS = [
    'host: x',
    'host: api',
    'host:',
    'host: localhost:1',
    'host: evil/v1/models?',
    'host: a/b',
    'host: a b',
    'host: a?b',
    'host: a#b',
    'host: x:y',
    'host: user@x:9',
    'host: %zz',
    'host: [::1]:80',
    'host: http://x/y',
    'host: x\\y',
  ]

  test.each([...HOSTS.map(host => [host, 'HTTP/1.1'] as const), ['', 'HTTP/1.0'] as const])(
    '"%s" in %s changes no path',
    async (host, version) => {
      const headers = [...(host === '' ? [] : [host]), `authorization: Bearer ${gateway.key}`]
      for (const surface of SURFACES) {
        const model = `${surface}/echo`
        const body = JSON.stringify(CALLS[surface].body(model))
        const good = await rawCall(`POST ${CALLS[surface].path(model)} ${version}`, headers, body)
        expect(good.status).toBe(200)
      }
      const body = JSON.stringify(CALLS.chat.body('chat/echo'))
      for (const path of ['/x/v1/chat/completions', '/chat/completions', '/api/v1/models', '/models']) {
        for (const method of ['GET', 'POST']) {
          const answer = await rawCall(`${method} ${path} ${version}`, headers, body)
          expect(answer.status).toBe(404)
          expect(JSON.parse(answer.text).error.code).toBe('unknown_path')
        }
      }
      const list = await rawCall(`GET /v1/models ${version}`, headers)
      expect(JSON.parse(list.text)).toMatchObject({ object: 'list' })
    },
  )

  test.each(['127.0.0.1:22', '[::1]:22', 'localhost:22', '//', 'x', '127.0.0.1:99999'])(
    'is not what a CONNECT to %s says, which is no path of ours and tells nothing of us',
    async target => {
      const answer = await rawCall(`CONNECT ${target} HTTP/1.1`, ['host: x'])
      expect(answer.status).toBe(404)
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'unknown_path' } })
    },
  )

  test('is not what an absolute request line says either', async () => {
    const headers = ['host: x', `authorization: Bearer ${gateway.key}`]
    const body = JSON.stringify(CALLS.chat.body('chat/echo'))
    expect((await rawCall('POST http://evil/v1/chat/completions HTTP/1.1', headers, body)).status).toBe(200)
    expect((await rawCall('POST http://evil/chat/completions HTTP/1.1', headers, body)).status).toBe(404)
  })
})
