import { expect, test } from 'bun:test'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'

const { gateway, upstream } = await scriptedGateway({ maxBodyBytes: 8192 })
const ample = await scriptedGateway()

interface Told {
  status: number
  id: string
  code: string | undefined
  param: string | undefined
}

async function ask(to: { url: string; key: string }, fields: object): Promise<Told> {
  const response = await fetch(`${to.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${to.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat/echo', ...fields }),
  })
  const { id = '', error } = JSON.parse(await response.text())
  return { status: response.status, id, code: error?.code, param: error?.param }
}

/** The simulator says it again, so that a turn keeps it twice. */
const words = (length: number) => 'x'.repeat(length)

test('a turn that is small is refused where the conversation that it goes on with makes it too large', async () => {
  const first = await ask(gateway, { input: words(2000), store: true })
  expect(first.status).toBe(200)
  expect((await ask(gateway, { input: 'and?', previous_response_id: first.id })).status).toBe(200)
  const asked = upstream.seen.length
  const next = await ask(gateway, { input: words(5000), previous_response_id: first.id })
  expect(next).toMatchObject({ status: 413, code: 'body_too_large' })
  expect(upstream.seen).toHaveLength(asked)
})

test('a conversation that is too large by itself is not gone on with', async () => {
  const first = await ask(gateway, { input: words(4500), store: true })
  expect(first.status).toBe(200)
  const asked = upstream.seen.length
  const next = await ask(gateway, { input: 'hi', previous_response_id: first.id })
  expect(next).toMatchObject({ status: 413, code: 'body_too_large' })
  expect(upstream.seen).toHaveLength(asked)
})

test('turns whose parts are too many together are refused as a body of so many is', async () => {
  const parts = Array.from({ length: 600_000 }, () => ({}))
  const input = [{ type: 'message', role: 'user', content: 'hi', parts }]
  const first = await ask(ample.gateway, { input, store: true })
  expect(first.status).toBe(200)
  const asked = ample.upstream.seen.length
  const next = await ask(ample.gateway, { input, previous_response_id: first.id })
  expect(next).toMatchObject({ status: 400, code: 'invalid_request' })
  expect(ample.upstream.seen).toHaveLength(asked)
  ample.upstream.seen.length = 0
})

test('a turn that is nested too deeply is refused for that, and not for a model that it names', async () => {
  const parts = JSON.parse('['.repeat(2000) + ']'.repeat(2000))
  const input = [{ type: 'message', role: 'user', content: 'hi', parts }]
  const told = await ask(ample.gateway, { input, store: true })
  expect(told).toMatchObject({ status: 400, code: 'invalid_request', param: null })
})

test('more than is kept of a turn is refused before anything is asked, and taken without store', async () => {
  const input = words(16 * 1024 * 1024 + 1)
  expect(await ask(ample.gateway, { input, store: true })).toMatchObject({
    status: 413,
    code: 'body_too_large',
    param: 'input',
  })
  expect(ample.upstream.seen).toHaveLength(0)
  ample.upstream.answer = () =>
    Response.json({
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    })
  expect((await ask(ample.gateway, { input, store: false })).status).toBe(200)
})
