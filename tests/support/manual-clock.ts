import type { Clock } from '@/clock/clock.ts'

/** A clock that stands still until it is told to move. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, running what falls due on the way in its order. */
  advance(ms: number): void
  /** Sets the clock on by `ms`, or back: it says another time, and no time has passed. */
  set(ms: number): void
}

interface Task {
  due: number
  /** Undefined: once. */
  every: number | undefined
  run: () => void
}

export function manualClock(start = 1_700_000_000_000): ManualClock {
  let now = start
  let offset = 0
  const tasks = new Set<Task>()
  const add = (ms: number, every: number | undefined, run: () => void) => {
    const task: Task = { due: now + ms, every, run }
    tasks.add(task)
    return () => {
      tasks.delete(task)
    }
  }
  const next = (until: number) =>
    [...tasks].filter(task => task.due <= until).sort((one, other) => one.due - other.due)[0]
  return {
    now: () => now + offset,
    elapsed: () => now,
    every: (ms, run) => add(ms, ms, run),
    after: (ms, run) => add(ms, undefined, run),
    set(ms) {
      offset += ms
    },
    advance(ms) {
      const until = now + ms
      for (let task = next(until); task !== undefined; task = next(until)) {
        now = Math.max(now, task.due)
        if (task.every === undefined) tasks.delete(task)
        else task.due += task.every
        task.run()
      }
      now = until
    },
  }
}
