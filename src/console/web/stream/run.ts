import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { send } from '../api/client.ts'
import { ApiFailure, asFailure } from '../api/failure.ts'
import { type PlaygroundSurface, saidBy } from './answer-text.ts'
import { type RawEvent, readEvents } from './event-reader.ts'

/** An answer as far as it has come. */
export interface Run {
  state: 'idle' | 'asking' | 'streaming' | 'done' | 'stopped'
  thinking: string
  text: string
  events: readonly RawEvent[]
  requestId: string | undefined
  firstMs: number | undefined
  totalMs: number | undefined
  failure: ApiFailure | undefined
}

/** Whether more of the answer may come. */
export function isRunning({ state }: Run): boolean {
  return state === 'asking' || state === 'streaming'
}

const IDLE: Run = {
  state: 'idle',
  thinking: '',
  text: '',
  events: [],
  requestId: undefined,
  firstMs: undefined,
  totalMs: undefined,
  failure: undefined,
}

/** What the playground asks of the API host. */
interface PlaygroundCall {
  path: string
  body: Record<string, unknown>
  strict: boolean
}

/** One streamed answer at a time, painted once a frame however fast its events come. */
export function useRun() {
  const [run, setRun] = useState<Run>(IDLE)
  const abort = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const start = useCallback((surface: PlaygroundSurface, request: PlaygroundCall) => {
    const controller = new AbortController()
    abort.current = controller
    const began = performance.now()
    let current: Run = { ...IDLE, state: 'asking' }
    // One list for the whole answer: of a long one, a copy with each event would keep the page busy for a minute.
    const events: RawEvent[] = []
    let frame = 0
    const paint = () => {
      frame = 0
      setRun(current)
    }
    const become = (change: Partial<Run>) => {
      current = { ...current, ...change }
      if (frame === 0) frame = requestAnimationFrame(paint)
    }
    const onEvent = (event: RawEvent) => {
      const said = saidBy(surface, event.data)
      events.push(event)
      become({
        state: 'streaming',
        firstMs: current.firstMs ?? performance.now() - began,
        events,
        text: current.text + (said.text ?? ''),
        thinking: current.thinking + (said.thinking ?? ''),
        ...(said.error === undefined ? {} : { failure: inStream(said.error) }),
      })
    }
    setRun(current)
    stream(request, controller.signal, id => become({ requestId: id }), onEvent)
      .then(() => become({ state: 'done', totalMs: performance.now() - began }))
      .catch((error: unknown) => {
        if (controller.signal.aborted) return become({ state: 'stopped' })
        const failure = asFailure(error)
        const requestId = current.requestId ?? failure.requestId
        become({ state: 'done', totalMs: performance.now() - began, failure, requestId })
      })
  }, [])
  const stop = useCallback(() => abort.current?.abort(), [])
  return { run, start, stop }
}

async function stream(
  request: PlaygroundCall,
  signal: AbortSignal,
  onId: (id: string) => void,
  onEvent: (event: RawEvent) => void,
): Promise<void> {
  const response = await send({ name: 'POST /api/playground', input: { body: request }, signal })
  const id = response.headers.get('x-request-id')
  if (id !== null) onId(id)
  if (response.body !== null) await readEvents(response.body, onEvent)
}

/** An error in the stream itself, after its head had said 200. */
function inStream(message: string): ApiFailure {
  return new ApiFailure(200, 'in_stream', message)
}
