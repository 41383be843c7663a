/** Time as the code asks for it, so that a test can be the one who passes it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /**
   * Whole milliseconds since some moment in the past. For how long something took or may take, since setting the machine's
   * clock does not change it.
   */
  elapsed(): number
  /** Calls `task` every `ms` until the returned function is called. Keeps no process alive. */
  every(ms: number, task: () => void): () => void
  /** Calls `task` once after `ms`, unless the returned function is called first. */
  after(ms: number, task: () => void): () => void
}

/** The time of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => Math.floor(performance.now()),
  every(ms, task) {
    const timer = setInterval(task, ms)
    timer.unref()
    return () => clearInterval(timer)
  },
  after(ms, task) {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  },
}
