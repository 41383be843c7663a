import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { FAILURES, type FailureRig, fault, STAGES, startFailureRig } from './failure-table.ts'

let rig: FailureRig
beforeAll(async () => {
  rig = await startFailureRig()
})
afterAll(() => rig.close())

describe.each(STAGES)('%s', stage => {
  test.each(
    FAILURES.filter(failure => failure.stage === stage).map(failure => [failure.name, failure] as const),
  )(
    '%s: what the caller sees, what is asked again and what is billed, on one channel and on two',
    async (_, failure) => {
      for (const channels of [1, 2] as const) {
        const observed = await rig.observe(failure, channels)
        expect({ channels, observed, fault: fault(failure, channels, observed) }).toEqual({
          channels,
          observed,
          fault: undefined,
        })
      }
    },
  )
})
