import type { Clock } from '@/clock/clock.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { scrub } from '@/telemetry/scrub.ts'
import type { Channel, ChannelKey } from '@/upstream/channel.ts'
import type { UpstreamClient } from '@/upstream/client.ts'
import type { ConsoleOutput } from '../api/contract/api.ts'

/** What came of one request with one key. */
type TestResult = ConsoleOutput<'POST /api/admin/channels/:name/test'>['items'][number]

const PROMPT = 'Answer with the word OK.'
const PATIENCE_MS = 30_000
const SHOWN = 500
/** More than an error that stands before a long text of no use. */
const MOST_READ = 64 * 1024

/**
 * Sends one small real request with each key of a channel: only that tells whether address, key, model and credit are
 * right together. It is on the operator's bill, and on nobody's here.
 */
export function testChannel(
  { upstream, clock }: { upstream: UpstreamClient; clock: Clock },
  channel: Channel,
  model: string,
): Promise<TestResult[]> {
  const keys = channel.keys.length === 0 ? [undefined] : channel.keys
  return Promise.all(keys.map(key => testKey(upstream, clock, channel, key, model)))
}

async function testKey(
  upstream: UpstreamClient,
  clock: Clock,
  channel: Channel,
  key: ChannelKey | undefined,
  model: string,
): Promise<TestResult> {
  const startedAt = clock.now()
  const patience = new AbortController()
  const cancel = clock.after(PATIENCE_MS, () =>
    patience.abort(new Error('it did not answer within 30 seconds')),
  )
  const told = (ok: boolean, status: number | null, message: string): TestResult => ({
    key_id: key?.id ?? null,
    ok,
    status,
    ms: Math.round(clock.now() - startedAt),
    message: scrub(hide(message, key)).slice(0, SHOWN),
  })
  try {
    const answer = await upstream({
      channel,
      key,
      call: { kind: 'generate', model, stream: false },
      body: new TextEncoder().encode(JSON.stringify(bodyOf(channel.format, model))),
      headers: channel.format === 'anthropic-messages' ? { 'anthropic-version': '2023-06-01' } : {},
      attempt: patience,
    })
    const text = await beginningOf(answer)
    return told(answer.ok, answer.status, answer.ok ? 'It answers.' : text)
  } catch (error) {
    return told(false, null, error instanceof Error ? error.message : String(error))
  } finally {
    cancel()
  }
}

/** Of an answer without an end, all would be the memory of this process. */
async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= MOST_READ) break
  }
  return text
}

/** The least that each format asks for. */
function bodyOf(format: Format, model: string): JsonObject {
  switch (format) {
    case 'openai-chat-completions':
      return { model, messages: [{ role: 'user', content: PROMPT }] }
    case 'openai-responses':
      return { model, input: PROMPT, max_output_tokens: 64 }
    case 'anthropic-messages':
      return { model, max_tokens: 64, messages: [{ role: 'user', content: PROMPT }] }
    case 'gemini-generate-content':
      return { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] }
  }
}

/** Some upstreams repeat the key that they refuse. */
function hide(text: string, key: ChannelKey | undefined): string {
  return key === undefined || key.secret === '' ? text : text.replaceAll(key.secret, '[key]')
}
