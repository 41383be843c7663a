import type { BreakerOpening, HealthSharing } from '@/routing/health/sharing.ts'

/** Several parties in one process that share what they know. */
export function inProcessSharing(): { join(): HealthSharing } {
  const members = new Set<{ listeners: ((opening: BreakerOpening) => void)[] }>()
  return {
    join() {
      const self: { listeners: ((opening: BreakerOpening) => void)[] } = { listeners: [] }
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
