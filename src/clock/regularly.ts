import type { Clock } from './clock.ts'

/**
 * Does something every so often until the returned function is called, one at a time: while it lasts it is not begun again.
 * What fails is told, and tried again the next time.
 */
export function regularly(
  ms: number,
  act: () => Promise<unknown>,
  { clock, onFailure }: { clock: Pick<Clock, 'every'>; onFailure: (error: unknown) => void },
): () => void {
  let isBusy = false
  return clock.every(ms, () => {
    if (isBusy) return
    isBusy = true
    act()
      .catch(onFailure)
      .finally(() => {
        isBusy = false
      })
  })
}

/**
 * Does something at once and every so often, and ends it on the way: the returned function aborts the signal of what runs,
 * and resolves once that is over.
 */
export function untilEnded(
  ms: number,
  act: (signal: AbortSignal) => Promise<unknown>,
  { clock, onFailure }: { clock: Pick<Clock, 'every'>; onFailure: (error: unknown) => void },
): () => Promise<void> {
  const ending = new AbortController()
  let running: Promise<unknown> | undefined
  const run = () => {
    running ??= act(ending.signal)
      .catch(onFailure)
      .finally(() => {
        running = undefined
      })
  }
  run()
  const stop = clock.every(ms, run)
  return async () => {
    stop()
    ending.abort()
    await running
  }
}
