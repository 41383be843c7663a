import { SHAPES, shapeOf } from './whole/plan.ts'
import { runSeed } from './whole/run.ts'
import { openWorld } from './whole/world.ts'

/**
 * `bun run chaos whole [SEEDS [FIRST_SEED]]`: random callers, an administrator and faults on whole gateways, as each seed
 * has it. What is not as it must be in the end is told with the seed and what was done.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const count = Number(args[0] ?? 30)
  const first = Number(args[1] ?? 1)
  const seeds = Array.from({ length: count }, (_, index) => first + index)
  const started = performance.now()
  const totals = { calls: 0, whole: 0, disturbances: 0, wrong: 0 }
  for (const shape of SHAPES) {
    const own = seeds.filter(seed => shapeOf(seed) === shape)
    if (own.length === 0) continue
    const world = await openWorld(shape)
    try {
      for (const seed of own) {
        const { wrong, story } = await runSeed(world, seed, true)
        totals.calls += story.calls.length
        totals.whole += story.calls.filter(({ isWhole }) => isWhole).length
        totals.disturbances += story.disturbances.length
        const faults = story.disturbances.map(({ what }) => what)
        if (wrong.length === 0) {
          console.log(`seed ${seed} held: ${story.calls.length} calls, ${['', ...faults].join(' ')}`)
          continue
        }
        totals.wrong += 1
        console.log(`seed ${seed} (again: bun run chaos whole 1 ${seed}), ${JSON.stringify(shape)}:`)
        for (const line of [...story.trace, ...wrong.map(what => `  WRONG: ${what}`)]) console.log(line)
      }
    } finally {
      await world.close()
    }
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(
    `whole: ${count} seeds, ${totals.calls} calls of which ${totals.whole} came whole, ${totals.disturbances} faults, in ${seconds} s: ${totals.wrong} seeds wrong`,
  )
  return totals.wrong === 0
}
