import { connectRedis } from '#tests/support/stores/redis.ts'
import { systemClock } from '@/clock/clock.ts'
import { openLimiter } from '@/limits/limiter.ts'
import { ask } from './limited.ts'

/** A gateway process of its own: takes as often as it is told to, gives nothing back, and says how often it was let in. */
const [url = '', namespace = '', takes = '0', limit = '0'] = process.argv.slice(2)

const redis = await connectRedis(url)
const limiter = await openLimiter({
  redis,
  clock: systemClock,
  log: { info: () => {}, warn: () => {} },
  namespace,
  maxInFlight: Number.POSITIVE_INFINITY,
})
const slots = ask({ account: 1, accountLimits: { concurrentRequests: Number(limit) } })
const rate = ask({ account: 2, accountLimits: { requestsPerMinute: Number(limit) } })
const admitted = { slots: 0, rate: 0 }
for (let asked = 0; asked < Number(takes); asked += 100) {
  const answers = Array.from({ length: 100 }, async () => {
    if ((await limiter.take({ ...slots, id: crypto.randomUUID() })).allowed) admitted.slots++
    if ((await limiter.take({ ...rate, id: crypto.randomUUID() })).allowed) admitted.rate++
  })
  await Promise.all(answers)
}
console.log(JSON.stringify(admitted))
// Without a word to Redis, as a process that is killed.
process.exit(0)
