import type { Opening } from './health.ts'

/**
 * What one process tells the others of its breakers. Only openings travel: that a channel works again every process
 * finds out by a probe of its own. Best effort, never in the way: a message that is lost costs a few failed attempts.
 */
export interface HealthSharing {
  /** Never throws and never waits. */
  publish(opening: Opening): void
  /** Calls the listener with what others publish, never with what was published here. */
  subscribe(listener: (opening: Opening) => void): void
  close(): Promise<void>
}

/** Several parties in one process that share what they know. */
export function inProcessSharing(): { join(): HealthSharing } {
  const members = new Set<{ listeners: ((opening: Opening) => void)[] }>()
  return {
    join() {
      const self: { listeners: ((opening: Opening) => void)[] } = { listeners: [] }
      members.add(self)
      return {
        publish(opening) {
          for (const member of members) {
            if (member !== self) for (const listener of member.listeners) listener(opening)
          }
        },
        subscribe: listener => {
          self.listeners.push(listener)
        },
        close: async () => {
          members.delete(self)
        },
      }
    },
  }
}
