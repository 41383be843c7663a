import type { Clock } from '@/clock/clock.ts'
import { turnAfter } from '@/exchange/attempt/answer-body.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * How long an answer is read on after its caller left, for the usage that may be on its way already. The upstream's
 * connection is closed within 100 ms of the leaving.
 */
const DRAIN_MS = 30

/**
 * Reads on for a moment after the caller left. If the answer comes to its end meanwhile, its usage is what the upstream
 * reports; else the meter stays where it was when the caller left, since what came later reached nobody.
 * @param signal of the attempt
 * @param stop ends the attempt
 */
export async function drain(
  body: ReadableStream<Uint8Array>,
  pipeline: Pipeline,
  signal: AbortSignal,
  clock: Clock,
  stop: () => void,
): Promise<void> {
  const { meter } = pipeline
  const goBack = meter.bookmark()
  const reader = body.getReader()
  const end = () => {
    stop()
    reader.cancel().catch(() => undefined)
  }
  const stopTimer = clock.after(DRAIN_MS, end)
  try {
    while (!meter.isConclusive && !pipeline.done && !signal.aborted) {
      const { done, value } = await reader.read()
      if (done) break
      pipeline.push(value, discard)
      const turn = turnAfter(value)
      if (turn !== undefined) await turn
    }
  } catch {
    // Broken off: what there is, is all there will be.
  }
  stopTimer()
  end()
  if (!meter.isConclusive) goBack()
}

function discard(): void {}
