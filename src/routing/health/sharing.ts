import type { Opened } from './breaker.ts'

/** A breaker that opened, and whose it is. */
export interface BreakerOpening extends Opened {
  channelId: number
  /** Undefined: the channel as a whole. */
  key: { id: number | undefined } | undefined
  /** The upstream's name of the one model that it is about; undefined: all of them. */
  model: string | undefined
}

/**
 * What one process tells the others of its breakers. Only openings travel: that a channel works again every process
 * finds out by a probe of its own. Best effort, never in the way: a message that is lost costs a few failed attempts.
 */
export interface HealthSharing {
  /** Never throws and never waits. */
  publish(opening: BreakerOpening): void
  /** Calls the listener with what others publish, never with what was published here. */
  subscribe(listener: (opening: BreakerOpening) => void): void
  close(): Promise<void>
}
