import Anthropic from '@anthropic-ai/sdk'

/** What the official SDK makes of this stream. It throws what it throws. */
export async function accumulate(stream: string): Promise<Anthropic.Message> {
  const client = new Anthropic({
    apiKey: 'sk-test',
    maxRetries: 0,
    fetch: async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
  })
  return client.messages
    .stream({ model: 'the-model', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] })
    .finalMessage()
}
