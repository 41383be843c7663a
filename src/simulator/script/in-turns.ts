import type { Step } from './script.ts'

/** The steps of several answers, one of each in turn; `index` says whose. */
export function* inTurns(
  answers: readonly Iterable<Step>[],
): Generator<{ index: number; step: Step; isFirst: boolean }> {
  let running = answers.map((steps, index) => ({ index, steps: steps[Symbol.iterator]() }))
  for (let isFirst = true; running.length > 0; isFirst = false) {
    const going: typeof running = []
    for (const answer of running) {
      const { value: step, done } = answer.steps.next()
      if (done === true) continue
      yield { index: answer.index, step, isFirst }
      going.push(answer)
    }
    running = going
  }
}
