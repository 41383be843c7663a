import { type ScriptedUpstream, scriptedUpstream } from './upstream.ts'

/** Bytes of text that the gateway counts as one token. */
const BYTES_PER_TOKEN = 4

/** An upstream that streams at a steady pace and knows of every request how much it sent. */
export interface PacedUpstream extends ScriptedUpstream {
  /** Tokens that were sent so far, by the caller's own name of the request: what an honest vendor would charge. */
  sent: Map<string, number>
}

interface Pace {
  events: number
  /** Of each event; 10 unless said. */
  tokens?: number
  /** Between two events. */
  paceMs: number
}

/** Streams events at a pace. A caller names its request `n=...` in the prompt. */
export function pacedUpstream({ events, tokens: each = 10, paceMs }: Pace): PacedUpstream {
  const text = 'x'.repeat(BYTES_PER_TOKEN * each)
  const delta = `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`
  const sent = new Map<string, number>()
  const upstream = scriptedUpstream(({ body }, signal) => {
    const name = /n=([\w-]+)/.exec(new TextDecoder().decode(body))?.[1] ?? ''
    return new Response(stream(name, signal), { headers: { 'content-type': 'text/event-stream' } })
  })

  async function* stream(name: string, signal: AbortSignal) {
    for (let event = 0; event < events && !signal.aborted; event += 1) {
      sent.set(name, (sent.get(name) ?? 0) + each)
      yield delta
      await Bun.sleep(paceMs)
    }
    if (signal.aborted) return
    const tokens = events * each
    yield 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    yield `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":${tokens},"total_tokens":${tokens + 10}}}\n\n`
    yield 'data: [DONE]\n\n'
  }

  return { ...upstream, sent }
}

/** One streamed call through a gateway. */
export interface PacedCall {
  name: string
  /** Undefined: no answer came. */
  status: number | undefined
  requestId: string | undefined
  /** The answer came to its end. */
  complete: boolean
  /** When the last byte came, by performance.now(). */
  lastByteAt: number
  text: string
}

/** Calls and reads to the end, whatever that is. @param onFlow called when the first of the answer has come */
export async function pacedCall(
  apiUrl: string,
  key: string,
  name: string,
  onFlow: () => void = () => undefined,
): Promise<PacedCall> {
  const call: PacedCall = {
    name,
    status: undefined,
    requestId: undefined,
    complete: false,
    lastByteAt: 0,
    text: '',
  }
  try {
    const response = await fetch(`${apiUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: `n=${name}` }] }),
    })
    call.status = response.status
    call.requestId = response.headers.get('x-request-id') ?? undefined
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      if (call.text === '') onFlow()
      call.lastByteAt = performance.now()
      call.text += decoder.decode(chunk, { stream: true })
    }
    call.complete = call.text.includes('[DONE]')
  } catch {
    // The gateway is gone; what came of the answer is in `call`.
  }
  return call
}
