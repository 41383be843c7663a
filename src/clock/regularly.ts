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
