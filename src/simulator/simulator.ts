import type { DeliveryObserver, Sleep } from '@/simulator/delivery/delivery.ts'
import { Answerer } from './answer.ts'
import { Recordings } from './recordings.ts'

/** What tests set otherwise. */
export interface SimulatorOptions {
  /** True: every request is recorded; else only those with the header `x-simulator-record` or the query `simulator-record`. */
  record?: boolean
  /** The clock, in milliseconds since 1970. */
  now?: () => number
  sleep?: Sleep
  /** What the body of a cut answer fails with; an Error by default. */
  cutError?: unknown
}

/** What was asked of a simulator since it was made (`/__simulator/stats`). */
interface SimulatorStats {
  /** Requests that are being answered right now. */
  active: number
  started: number
  /** Answered to the planned end, which may be a cut. */
  completed: number
  /** The client left before that. */
  cancelled: number
  /** Body bytes handed to the connection. */
  bytes: number
}

/** An upstream of every format behind one `fetch`. */
export interface Simulator {
  fetch(request: Request): Promise<Response>
  recordings: Recordings
  stats(): SimulatorStats
}

/**
 * A lawful and deterministic upstream of all four formats. It shares nothing with the converters of src/formats, so a
 * mistake in one of them cannot hide here. State per instance: the prompt cache, the recordings, the request counter.
 */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const recordings = new Recordings()
  const counts = { started: 0, completed: 0, cancelled: 0, bytes: 0 }
  const stats = () => ({ active: counts.started - counts.completed - counts.cancelled, ...counts })
  const observer: DeliveryObserver = {
    sent: bytes => {
      counts.bytes += bytes
    },
    ended: how => {
      counts[how]++
    },
  }
  const answerer = new Answerer({
    now: options.now ?? Date.now,
    sleep: options.sleep ?? sleepFor,
    cutError: 'cutError' in options ? options.cutError : new Error('The simulator cut this connection.'),
    observer,
  })
  return {
    recordings,
    stats,
    async fetch(request) {
      const url = new URL(request.url)
      if (url.pathname.startsWith('/__simulator/'))
        return control(request.method, url.pathname, recordings, stats)
      const body = new Uint8Array(await request.arrayBuffer())
      const asked = request.headers.has('x-simulator-record') || url.searchParams.has('simulator-record')
      if (options.record === true || asked) recordings.add(request, body)
      counts.started++
      return answerer.answer(request, url, body, counts.started)
    },
  }
}

/** The simulator's own paths; no vendor has them. */
function control(
  method: string,
  path: string,
  recordings: Recordings,
  stats: () => SimulatorStats,
): Response {
  if (path === '/__simulator/stats' && method === 'GET') return Response.json(stats())
  if (path === '/__simulator/recordings' && method === 'GET') return Response.json(recordings.all())
  if (path === '/__simulator/recordings' && method === 'DELETE') {
    recordings.clear()
    return new Response(null, { status: 204 })
  }
  return Response.json({ error: { message: `Unknown simulator path: ${method} ${path}.` } }, { status: 404 })
}

function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', leave)
      resolve()
    }, ms)
    signal.addEventListener('abort', leave, { once: true })
  })
}
