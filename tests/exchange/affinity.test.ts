import { expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { asString, parseObject } from '@/json/json.ts'

const gateway = await fileGateway()
const { url } = gateway.simulator
const names = ['one', 'two', 'three']
await gateway.apply(`operator_headers: true
channels:
${names.map(name => `  - { name: ${name}, format: openai-responses, base_url: "${url}", api_keys: ["upstream-key-${name}"], allow_private: true }`).join('\n')}
models:
  - { id: talk, channels: [${names.map(name => `{ channel: ${name}, model: echo }`).join(', ')}], prices: { input: 1, output: 2 } }
`)

async function ask(path: string, body: object): Promise<{ channel: string | null; id: string | undefined }> {
  const response = await gateway.post(path, { model: 'talk', ...body })
  expect(response.status).toBe(200)
  return {
    channel: response.headers.get('x-tollgate-channel'),
    id: asString(parseObject(await response.text())?.['id']),
  }
}

test('the turns of a conversation stay on the channel of the first, and conversations are spread', async () => {
  const channels = new Set<string | null>()
  for (let conversation = 0; conversation < 12; conversation += 1) {
    const messages = [{ role: 'user', content: `conversation ${conversation}` }]
    const { channel } = await ask('/v1/chat/completions', { messages })
    channels.add(channel)
    for (let turn = 1; turn < 4; turn += 1) {
      messages.push({ role: 'assistant', content: 'yes' }, { role: 'user', content: `turn ${turn}` })
      expect((await ask('/v1/chat/completions', { messages })).channel).toBe(channel)
    }
  }
  expect(channels).toEqual(new Set(['one', 'two', 'three']))
})

test('so do those that go on from a stored response, with other instructions each time', async () => {
  for (let conversation = 0; conversation < 8; conversation += 1) {
    const begun = { input: `stored ${conversation}`, instructions: 'Be brief', store: true }
    const { channel, id } = await ask('/v1/responses', begun)
    let previous = id
    for (let turn = 1; turn < 4; turn += 1) {
      const next = { input: 'go on', instructions: `Be ${turn}`, previous_response_id: previous, store: true }
      const answer = await ask('/v1/responses', next)
      expect(answer.channel).toBe(channel)
      previous = answer.id
    }
  }
})
