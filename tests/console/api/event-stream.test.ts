import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { type EventSink, eventStream } from '@/console/api/event-stream.ts'

/** The stream behind a listener, as the console serves it. */
function serve() {
  const clock = manualClock()
  let sink: EventSink | undefined
  let ended = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    reusePort: false,
    fetch: request =>
      eventStream(clock, request.signal, opened => {
        sink = opened
        return () => {
          ended += 1
        }
      }),
  })
  return { clock, server, sink: () => sink, ended: () => ended }
}

async function readUntil(response: Response, end: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.includes(end)) break
  }
  return text
}

test('frames what is sent, ids and line breaks in it included, and tells that it is still there', async () => {
  const { server, sink, clock } = serve()
  const response = await fetch(server.url)
  sink()?.send('request', { text: 'id: 1\n\ndata: x', word: '世界' })
  clock.advance(15_000)
  const text = await readUntil(response, ': still here')
  expect(text).toBe(
    ': here\n\nevent: request\ndata: {"text":"id: 1\\n\\ndata: x","word":"世界"}\n\n: still here\n\n',
  )
  await server.stop(true)
})

test('a reader who leaves ends it once, and what is sent afterwards harms nobody', async () => {
  const { server, sink, ended } = serve()
  const abort = new AbortController()
  const response = await fetch(server.url, { signal: abort.signal })
  await readUntil(response, ': here').catch(() => undefined)
  abort.abort()
  await until(() => ended() === 1)
  for (let time = 0; time < 1_000; time += 1) sink()?.send('request', { time })
  expect(ended()).toBe(1)
  expect((await fetch(server.url)).status).toBe(200)
  await server.stop(true)
})

test('a reader who does not read costs no more than 500 events, and is told how many were lost', async () => {
  const clock = manualClock()
  let sink: EventSink | undefined
  const response = eventStream(clock, new AbortController().signal, opened => {
    sink = opened
    return () => undefined
  })
  for (let number = 0; number < 2_000; number += 1) sink?.send('request', { number })
  const text = await readUntil(response, '"number":1999')
  const lost = Number(/event: lost\ndata: \{"events":(\d+)\}/.exec(text)?.[1])
  expect(text.match(/event: request/g)?.length).toBeLessThanOrEqual(502)
  expect(lost).toBeGreaterThanOrEqual(1_498)
})
