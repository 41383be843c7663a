import type { ChannelHealth } from '@/routing/health/health.ts'
import type { BreakerReading } from '@/telemetry/gauges.ts'

/**
 * The breakers of channels, keys and models as the metrics want them. A model whose pause is over and that nobody asks for any
 * more would be told for good.
 */
export function breakerReadings(channels: readonly ChannelHealth[]): BreakerReading[] {
  return channels.flatMap(({ channel, breaker, keys }) => [
    { channel, key: '', ...breaker },
    ...keys.flatMap(({ position, breaker, pausedModels }) => {
      const key = { channel, key: String(position) }
      const paused = pausedModels.filter(({ breaker }) => breaker.state === 'open')
      return [{ ...key, ...breaker }, ...paused.map(({ model, breaker }) => ({ ...key, model, ...breaker }))]
    }),
  ])
}
