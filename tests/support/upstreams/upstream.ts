import type { Server } from 'bun'

/** One request as an upstream saw it. */
export interface SeenRequest {
  method: string
  path: string
  query: string
  headers: Headers
  body: Uint8Array
}

/** An upstream that answers as a test says and remembers what it was asked. */
export interface ScriptedUpstream {
  url: string
  seen: SeenRequest[]
  /** The body that it was sent last. */
  lastBody(): string
  /** Requests whose connection was closed by the other side before the answer's end. */
  aborted: number
  server: Server<undefined>
  /** What it answers from now on. */
  answer: Script
  stop(): Promise<void>
}

/** What an upstream answers to a request; the signal fires when the other side closes. */
export type Script = (request: SeenRequest, signal: AbortSignal) => Response | Promise<Response>

export function scriptedUpstream(script: Script): ScriptedUpstream {
  const seen: SeenRequest[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    reusePort: false,
    idleTimeout: 0,
    error: () => new Response(null, { status: 500 }),
    async fetch(request) {
      const url = new URL(request.url)
      const body = new Uint8Array(await request.arrayBuffer())
      const saw = {
        method: request.method,
        path: url.pathname,
        query: url.search,
        headers: request.headers,
        body,
      }
      seen.push(saw)
      request.signal.addEventListener('abort', () => {
        upstream.aborted += 1
      })
      return upstream.answer(saw, request.signal)
    },
  })
  const upstream: ScriptedUpstream = {
    url: `http://127.0.0.1:${server.port}`,
    seen,
    lastBody: () => Buffer.from(seen.at(-1)?.body ?? []).toString(),
    aborted: 0,
    server,
    answer: script,
    stop: () => server.stop(true),
  }
  return upstream
}

/** A stream that the test feeds by hand. */
export function fedStream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const left = Promise.withResolvers<void>()
  const stream = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
    },
    cancel: () => left.resolve(),
  })
  const write = (text: string | Uint8Array) =>
    controller?.enqueue(typeof text === 'string' ? new TextEncoder().encode(text) : text)
  return {
    stream,
    write,
    close: () => controller?.close(),
    fail: () => controller?.error(null),
    /** Resolves when nobody reads it any more. */
    left: left.promise,
  }
}

/** A body that has no end, and how many MiB of it were read. */
export function endlessBody() {
  const megabyte = Buffer.alloc(1024 * 1024, ' ')
  const body = {
    megabytes: 0,
    stream: new ReadableStream<Uint8Array>({
      pull(controller) {
        body.megabytes += 1
        controller.enqueue(megabyte)
      },
    }),
  }
  return body
}

export function eventStream(body: string | ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** Longer than any stall of a busy machine, and shorter than a test's own time, so that its failure says what it waited for. */
const PATIENCE_MS = 30_000

/** Resolves when `condition` holds, with how long that took; fails after `ms`, which is a bound and not a pause. */
export async function until(condition: () => boolean | Promise<boolean>, ms = PATIENCE_MS): Promise<number> {
  const start = performance.now()
  while (!(await condition())) {
    if (performance.now() - start > ms) throw new Error(`still not so after ${ms} ms`)
    await new Promise(resolve => setImmediate(resolve))
  }
  return performance.now() - start
}

/** How long an upstream keeps the connection of a caller who leaves now, in ms. */
export function untilAborted(
  upstream: Pick<ScriptedUpstream, 'aborted'>,
  caller: AbortController,
): Promise<number> {
  const { aborted } = upstream
  caller.abort()
  return until(() => upstream.aborted > aborted)
}
