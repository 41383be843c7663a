import { expect, test } from 'bun:test'
import { SHAPES } from './plan.ts'
import { runSeed } from './run.ts'
import { openWorld } from './world.ts'

/** More, on every shape, with `bun run chaos whole`. */
const SEEDS = [4]

test('callers, an administrator and faults at random leave gateways in which each cent and place is explained', async () => {
  const world = await openWorld(SHAPES[1])
  try {
    for (const seed of SEEDS) {
      const { wrong, story } = await runSeed(world, seed, false)
      expect({ seed, wrong, trace: wrong.length > 0 ? story.trace : [] }).toEqual({
        seed,
        wrong: [],
        trace: [],
      })
    }
  } finally {
    await world.close()
  }
}, 300_000)
