import { expect, test } from 'bun:test'
import OpenAI from 'openai'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'

const gateway = await fileGateway({ storesUnasked: true })
const clientOf = (apiKey: string) =>
  new OpenAI({ apiKey, baseURL: new URL('/v1', gateway.url).href, maxRetries: 0 })
const client = clientOf(gateway.key)

test.each([false, true])(
  "where responses are kept unless refused, OpenAI's client goes on by an id that it asked nobody to keep; stream: %p",
  async stream => {
    const asked = { model: 'chat/echo', input: 'one' }
    const first = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked)
    const second = await client.responses.create({
      model: 'messages/echo',
      input: 'two',
      previous_response_id: first.id,
    })
    expect(second.output_text).toBe('two')
    expect((await client.responses.retrieve(first.id)).output_text).toBe('one')
  },
)

test('what says store: false is not kept there', async () => {
  const { id } = await client.responses.create({ model: 'chat/echo', input: 'one', store: false })
  const { error } = await client.responses.retrieve(id).catch(refusal => refusal)
  expect(error).toMatchObject({ code: 'not_found' })
})

test('an account of which nothing is kept is answered there without', async () => {
  const account = await gateway.accounts.createAccount({
    email: 'keeps-nothing@example.com',
    creditNano: 1_000_000_000n,
    onTrial: false,
    models: [],
    storeAllowed: false,
  })
  const { key } = await gateway.keys.createKey({ accountId: account.id, name: '', storeAllowed: true })
  const response = await clientOf(key).responses.create({ model: 'chat/echo', input: 'one' })
  expect(response).toMatchObject({ output_text: 'one', store: false })
})
