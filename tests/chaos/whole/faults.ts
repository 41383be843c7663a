import { childrenOf, signalAll } from '#tests/support/processes.ts'
import type { Fault } from './plan.ts'
import { LATE_TIMES, type Story } from './story.ts'
import type { World } from './world.ts'

const PAUSE_MS = 1_200
/** Longer than others wait for the heartbeat of a process. */
const FROZEN_MS = 13_000
/** How old a stream is that has had a checkpoint or two, on a machine whose timers are not late. */
const OLD_MS = 6_000

/** Until some stream is old; not for ever, since there may be none. */
async function waitForOld({ upstream }: World, { lateMs }: Story): Promise<void> {
  const oldMs = OLD_MS + LATE_TIMES * lateMs
  const givesUpAt = performance.now() + 2 * oldMs
  const isOld = () =>
    [...upstream.attempts.values()]
      .flat()
      .some(each => each.sent > 0 && !Number.isFinite(each.endedAt) && each.at < performance.now() - oldMs)
  while (performance.now() < givesUpAt && !isOld()) await Bun.sleep(50)
}

/** Ends what was begun. */
type End = () => unknown

/** Breaks it, and mends what does not come back by itself. */
export async function breakIt(
  world: World,
  story: Story,
  { do: what, gateway: index, isLate }: Fault,
): Promise<void> {
  const { fleet, redis } = world
  if (isLate) await waitForOld(world, story)
  const disturb = (gateway?: object, at = performance.now()) =>
    story.disturbances.push({ what, at, until: at, gateway })
  const pause = async (ms: number, begin: () => End | Promise<End>, gateway?: object) => {
    const disturbance = { what, at: performance.now(), until: Number.POSITIVE_INFINITY, gateway }
    story.disturbances.push(disturbance)
    const end = await begin()
    await Bun.sleep(ms)
    await end()
    disturbance.until = performance.now()
  }
  switch (what) {
    case 'kill':
    case 'stop': {
      const { gateway, at } = await world.end(index, what === 'kill' ? 'SIGKILL' : 'SIGTERM')
      disturb(gateway, at)
      return
    }
    case 'kill-worker': {
      await world.restored()
      const gateway = fleet.gateways[index]
      const workers = gateway === undefined ? [] : childrenOf(gateway.pid)
      if (workers.length === 0) return
      disturb(gateway)
      signalAll(workers.slice(0, 1), 'SIGKILL')
      return
    }
    case 'crash-postgres':
      disturb()
      fleet.crashPostgres()
      return
    case 'freeze': {
      await world.restored()
      const gateway = fleet.gateways[index]
      const frozen = gateway === undefined ? [] : [gateway.pid, ...childrenOf(gateway.pid)]
      const freeze = () => {
        signalAll(frozen, 'SIGSTOP')
        return () => signalAll(frozen, 'SIGCONT')
      }
      return pause(FROZEN_MS, freeze, gateway)
    }
    case 'pause-postgres':
      return pause(PAUSE_MS, fleet.pausePostgres)
    case 'kill-redis':
      return pause(PAUSE_MS, async () => {
        await redis?.kill()
        return () => redis?.restart()
      })
    case 'flush-redis':
      disturb()
      await redis?.flush()
      return
    case 'pause-redis':
      return pause(PAUSE_MS, () => {
        redis?.pause()
        return () => redis?.resume()
      })
  }
}
