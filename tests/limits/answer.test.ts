import { expect, test } from 'bun:test'
import { limitStates } from '@/limits/answer.ts'

const limited = {
  buckets: [
    {
      key: 'b',
      name: { scope: 'key', kind: 'requests' },
      limit: 60,
      costUs: 1_000_000,
      burstUs: 60_000_000,
    },
  ],
  leases: [{ key: 'l', name: { scope: 'key', kind: 'concurrent' }, limit: 10 }],
} as const

/** Two requests of this process, each of which counts as one of every process that shares the limit. */
const taken = (share: number) => ({
  allowed: true,
  refusedBy: undefined,
  retryAfterUs: 0,
  levelsUs: [2_000_000 * share],
  held: [2],
})

test.each([
  [1, 58, 8],
  [4, 13, 0],
  [7, 6, 0],
  [100, 0, 0],
])(
  'what remains of a limit that %p processes share is what this one may still let in',
  (share, requests, places) => {
    const states = limitStates(limited, taken(share), share)
    expect(states.map(({ kind, limit, remaining }) => [kind, limit, remaining])).toEqual([
      ['requests', 60, requests],
      ['concurrent', 10, places],
    ])
  },
)
