/**
 * Bare Bun proxies, to say what the runtime alone costs: PORT, UPSTREAM and MODE from the environment.
 *   native     new Response(upstream.body): bytes never enter JavaScript
 *   pull       a ReadableStream whose pull() reads the upstream; JavaScript sees every chunk
 *   transform  the same through pipeThrough(TransformStream)
 */
const mode = process.env['MODE'] ?? 'native'
const upstream = process.env['UPSTREAM'] ?? ''
const usageKey = Buffer.from('"usage":{')
let usageSeen = 0

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  idleTimeout: 0,
  async fetch(request) {
    if (request.method !== 'POST') return Response.json({ usageSeen })
    const { pathname, search } = new URL(request.url)
    const answer = await fetch(upstream + pathname + search, {
      method: 'POST',
      body: await request.arrayBuffer(),
      headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
      signal: request.signal,
    })
    const type = answer.headers.get('content-type') ?? ''
    const head = { status: answer.status, headers: { 'content-type': type } }
    if (mode === 'native' || answer.body === null || !type.startsWith('text/event-stream')) {
      return new Response(answer.body, head)
    }
    return new Response(
      mode === 'pull' ? pulled(answer.body, request.signal) : transformed(answer.body),
      head,
    )
  },
})

/** What a gateway has to do at the least: look for usage. */
function sniff(chunk: Uint8Array): void {
  if (Buffer.prototype.indexOf.call(chunk, usageKey) >= 0) usageSeen += 1
}

/** Reads upstream on demand, so that a slow client slows it down and one that leaves cancels it. */
function pulled(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        sniff(value)
        controller.enqueue(value)
      } catch (error) {
        if (signal.aborted) controller.close()
        else controller.error(error)
      }
    },
    cancel: reason => reader.cancel(reason),
  })
}

function transformed(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        sniff(chunk)
        controller.enqueue(chunk)
      },
    }),
  )
}
