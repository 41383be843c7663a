import { expect, test } from 'bun:test'
import { planOf, shapeOf } from './plan.ts'
import { isFault, runSeed } from './run.ts'
import { SURFACES } from './wire.ts'
import { openWorld } from './world.ts'

/** More, on every shape, with `bun run chaos whole`. */
const SEED = 4

test('callers, an administrator and faults at random leave gateways in which each cent and place is explained', async () => {
  const shape = shapeOf(SEED)
  const world = await openWorld(shape)
  try {
    const { wrong, story } = await runSeed(world, SEED, false)
    expect({ wrong, trace: wrong.length > 0 ? story.trace : [] }).toEqual({ wrong: [], trace: [] })
    const served = [...story.calls, ...story.probes].filter(({ isWhole }) => isWhole)
    expect(new Set(served.map(({ plan }) => plan.surface))).toEqual(new Set(SURFACES))
    const planned = planOf(SEED, shape).filter(isFault)
    expect(story.disturbances.map(({ what }) => what).sort()).toEqual(planned.map(step => step.do).sort())
  } finally {
    await world.close()
  }
}, 300_000)
