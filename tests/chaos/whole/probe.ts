import { until } from '#tests/support/upstreams/upstream.ts'
import { payOut } from './acts.ts'
import { type Call, type CallPlan, send, told } from './caller.ts'
import { CAPPED, MODELS, PAYERS } from './plan.ts'
import type { Story } from './story.ts'
import { isConversation, SURFACES } from './wire.ts'
import type { World } from './world.ts'

/** Longer than a lease lasts that nobody renews. */
const LEASE_OVER_MS = 45_000
/** Who was told to come back later is refused until then without anybody being asked. */
const COME_BACK_MS = 1_500
const PLACES = 3

/**
 * Each payer, given so many places, can use all of them at once: none is taken by what has ended. Together they ask for
 * every model, and on every surface. Who is out is refused, and what a closed account has left can be paid out.
 */
export async function probe(world: World, story: Story): Promise<string[]> {
  return (await Promise.all(PAYERS.map((_, payer) => probePayer(world, story, payer)))).flat()
}

async function probePayer(world: World, story: Story, payer: number): Promise<string[]> {
  const { accountId, keys } = story.payers[payer] ?? {}
  const key = payer === CAPPED ? 1 : 0
  const bans = story.bans.filter(each => each.payer === payer && each.to === Number.POSITIVE_INFINITY)
  const isOut = bans.some(ban => (ban.key ?? key) === key)
  const path = `/api/admin/accounts/${accountId}`
  const limits = { requests_per_minute: 1_000_000, concurrent_requests: PLACES }
  await world.administer('PATCH', `${path}/limits`, limits)
  const once = crypto.randomUUID()
  await world.administer('POST', `${path}/credit`, { amount: '5', reason: 'a probe', once })
  let found: Call[] = []
  let tries = 0
  const isRight = async () => {
    if (tries > 0) await Bun.sleep(COME_BACK_MS)
    tries += 1
    const asked = Array.from({ length: PLACES }, async (_, place) => {
      const name = `probe-${story.seed}-${payer}-${tries}-${place}`
      const plan = probeOf(name, payer, key, payer * PLACES + place)
      return send(await world.someGateway(), keys?.[key].key ?? '', plan, false)
    })
    const answered = await Promise.all(asked)
    story.probes.push(...answered)
    found = answered.filter(({ isWhole, status }) => (isOut ? status !== 401 : !isWhole))
    return found.length === 0
  }
  await until(isRight, LEASE_OVER_MS).catch(() => undefined)
  const wrong = found.map(call => `payer ${payer}, ${isOut ? 'who is out' : 'at its places'}: ${told(call)}`)
  if (bans.some(ban => ban.key === undefined)) {
    const { status, text } = await payOut(world, story, payer)
    if (status !== 200 && !/Nothing is left|in debt/.test(text)) wrong.push(`payer ${payer}, closed: ${text}`)
  }
  return wrong
}

function probeOf(name: string, payer: number, key: number, index: number): CallPlan {
  const surface = SURFACES[index % SURFACES.length] ?? 'chat'
  const model = MODELS[index % MODELS.length] ?? 'chat'
  const streamed = isConversation(surface)
  const script = { events: 5, each: 5, paceMs: streamed ? 60 : 300, behaviour: 'good' } as const
  const more = { most: 100, leavesAfter: undefined, background: false, idempotent: false, twice: false }
  return { name, payer, key, surface, model, streamed, script, ...more }
}
