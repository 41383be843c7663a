import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect } from '@/db/connect.ts'
import { account } from '@/db/schema.ts'
import { createLog } from '@/telemetry/log.ts'

const KEY = 'sk-0Ab9cD8e7F6a5B4c3D2e1F0a9B8c7D6e5F4a3B2c1D0e9F8a7B6c5D4e3'

function capture(level = 'debug') {
  const lines: string[] = []
  return { log: createLog({ level, format: 'json' }, { write: line => lines.push(line) }), lines }
}

describe('a log line', () => {
  test('is one JSON object with a time in ISO 8601 and neither host name nor process id', () => {
    const { log, lines } = capture()
    log.info({ a: 1 }, 'words')
    expect(lines).toHaveLength(1)
    const line = JSON.parse(lines[0] ?? '')
    expect(line).toEqual({ level: 30, time: expect.any(String), a: 1, msg: 'words' })
    expect(new Date(line.time).toISOString()).toBe(line.time)
  })

  test('carries no credential in its message, its fields, its errors or their causes', () => {
    const { log, lines } = capture()
    log.info(`message ${KEY}`)
    log.info({ field: KEY, nested: { list: [`x\n${KEY}`] }, [KEY]: 1 }, 'fields')
    log.error({ err: new Error(`failed with ${KEY}`, { cause: new Error(`because of\n${KEY}`) }) }, 'error')
    log.child({ bound: KEY }).warn({ url: `https://x/y?key=${KEY}` }, '%s', KEY)
    expect(lines).toHaveLength(4)
    for (const line of lines) {
      expect(line).not.toContain(KEY.slice(3))
      expect(line).toContain('sk-[redacted]')
      expect(() => JSON.parse(line)).not.toThrow()
    }
  })

  test('of a statement that failed has no value of a row, and says which statement it was', async () => {
    const { log, lines } = capture()
    const away = connect('postgres://127.0.0.1:1/nothing')
    const failure: unknown = await away.orm
      .update(account)
      .set({ email: 'somebody@example.com' })
      .then(
        () => undefined,
        error => error,
      )
    await away.close()
    log.warn({ err: failure }, 'failed')
    log.warn({ err: new Error('because', { cause: failure }) }, 'failed as well')
    expect(lines).toHaveLength(2)
    for (const line of lines) {
      expect(line).toContain('update \\"account\\" set')
      expect(line).toContain('ECONNREFUSED')
      expect(line).not.toContain('somebody')
    }
  })

  test('is not written below the level', () => {
    const { log, lines } = capture('warn')
    log.info('quiet')
    log.warn('loud')
    expect(lines).toHaveLength(1)
  })
})

describe('a plain line', () => {
  const WITHOUT_TIME = /"time":"[^"]*"/

  test('is to the letter what any line with these fields is', () => {
    const { log, lines } = capture()
    const text = fc.string({ unit: 'grapheme', maxLength: 20 })
    const value = fc.oneof(
      text,
      fc.double(),
      fc.boolean(),
      fc.constant(undefined),
      fc.record({ a: fc.nat() }),
    )
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), value, { maxKeys: 6 }),
        text,
        (fields, message) => {
          lines.length = 0
          log.info(fields, message)
          log.plain(fields, message)
          const [line, plain] = lines.map(written => written.replace(WITHOUT_TIME, ''))
          expect(plain).toBe(line)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('is not written below the level', () => {
    const { log, lines } = capture('warn')
    log.plain({ a: 1 }, 'quiet')
    expect(lines).toHaveLength(0)
  })
})

const gateway = await fileGateway()

describe('the line of an exchange', () => {
  async function lineOf(model: string, body: object = {}): Promise<Record<string, unknown>> {
    const response = await gateway.post('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'a private matter' }],
      ...body,
    })
    await response.text().catch(() => '')
    const id = response.headers.get('x-request-id') ?? ''
    const own = () => gateway.logLines.filter(line => line.includes(id))
    await until(() => own().length > 0)
    expect(own()).toHaveLength(1)
    return JSON.parse(own()[0] ?? '')
  }

  test('names who, what, where, how long and how it ended', async () => {
    expect(await lineOf('chat/echo')).toMatchObject({
      level: 30,
      msg: 'exchange',
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      surface: 'chat',
      model: 'chat/echo',
      channel: 'chat',
      format: 'openai-chat-completions',
      account: gateway.accountId,
      key: gateway.keyId,
      status: 200,
      end_state: 'complete',
      streamed: false,
      attempts: 1,
      first_byte_ms: expect.any(Number),
      total_ms: expect.any(Number),
      usage: expect.objectContaining({ outputText: expect.any(Number) }),
    })
  })

  test('of a stream comes at its end, with its usage', async () => {
    expect(await lineOf('messages/long-20', { stream: true })).toMatchObject({
      streamed: true,
      end_state: 'complete',
      format: 'anthropic-messages',
      usage: expect.objectContaining({ outputText: expect.any(Number) }),
    })
  })

  test('of a failure says what failed, with the detail that the caller is not told', async () => {
    expect(await lineOf('chat/error-401')).toMatchObject({
      status: 502,
      end_state: 'upstream_error',
      error: {
        kind: 'upstream_auth',
        message: expect.stringContaining('Simulated'),
      },
    })
    expect(await lineOf('chat/garbage')).toMatchObject({
      status: 502,
      end_state: 'upstream_error',
      error: {
        kind: 'upstream_error',
        message: expect.any(String),
        detail: expect.stringContaining('base_url'),
      },
    })
    expect(await lineOf('nope')).toMatchObject({
      status: 400,
      end_state: 'refused',
      attempts: 0,
      error: { kind: 'model_not_found' },
    })
  })

  test('never holds what was said', async () => {
    for (const model of ['chat/echo', 'gemini/reason', 'responses/tool', 'chat/error-midstream']) {
      await lineOf(model, { stream: true })
    }
    expect(gateway.logLines.join('')).not.toContain('private')
  })
})
