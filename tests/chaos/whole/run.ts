import { childrenOf, signalAll } from '#tests/support/processes.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { act } from './acts.ts'
import { type Call, type CallPlan, send } from './caller.ts'
import { CAPPED, type Fault, MODELS, PAYERS, planOf, type Step } from './plan.ts'
import { LATE_TIMES, type Story } from './story.ts'
import { isConversation, SURFACES } from './wire.ts'
import { openPayers, type World } from './world.ts'
import { findWrong } from './wrong.ts'

const LOOK_MS = 50
/** How long a request is tried again under its Idempotency-Key. */
const TRIES = 40
/** What a killed process leaves is posted by the next one within a minute. */
const ADOPTED_MS = 75_000

/**
 * Does what the seed says, lets everything come to rest, and tells what is not as it must be.
 *
 * @param isPatient whether it waits for what is done once a minute, as giving back what a dead run was charged
 */
export async function runSeed(
  world: World,
  seed: number,
  isPatient: boolean,
): Promise<{ wrong: string[]; story: Story }> {
  const payers = await openPayers(world)
  const story: Story = {
    seed,
    payers,
    beganAt: performance.now(),
    calls: [],
    disturbances: [],
    given: PAYERS.map(({ creditNano }) => creditNano),
    probes: [],
    taken: PAYERS.map(() => 0n),
    refunds: new Map(),
    revoked: new Map(),
    suspended: [],
    limits: { requests: 8, concurrent: 2 },
    lateMs: 0,
    lates: [],
    trace: [],
  }
  const stopWatch = watchLateness(story)
  const running: Promise<void>[] = []
  for (const step of planOf(seed, world.shape)) {
    const line = story.trace.push('') - 1
    const tell = (what: string) => {
      const s = ((performance.now() - story.beganAt) / 1000).toFixed(1)
      story.trace[line] += `\n      ${s} s: ${what}`
    }
    story.trace[line] = `  ${line} ${JSON.stringify(step)}`
    const work = takeStep(world, story, step, tell)
    if (step.do === 'call' || isFault(step)) running.push(work)
    else await work
  }
  await Promise.all(running)
  stopWatch()
  await world.restored()
  const look = async () => {
    await world.fleet.buryDead()
    return findWrong(world, story, isPatient)
  }
  const isRight = async () => {
    await Bun.sleep(500)
    return (await look()).length === 0
  }
  await until(isRight, isPatient ? ADOPTED_MS : 20_000).catch(() => undefined)
  const wrong = await look()
  const isOffered = await world.offerAll(payers[0]?.keys[0].key ?? '')
  if (!isOffered) wrong.push('the file that was applied last does not hold')
  wrong.push(...(await probe(world, story)))
  const report = await world.fleet.audit()
  for (const { name, count, informational, first } of report.checks) {
    if (count > 0 && !informational) wrong.push(`audit, ${name}: ${first.join('; ')}`)
  }
  return { wrong, story }
}

function watchLateness(story: Story): () => void {
  let last = performance.now()
  const timer = setInterval(() => {
    const [from, to] = [last + LOOK_MS, performance.now()]
    story.lateMs = Math.max(story.lateMs, to - from)
    if (to > from) story.lates.push({ from, to })
    last = to
  }, LOOK_MS)
  return () => clearInterval(timer)
}

/** Whether it breaks something. */
export function isFault(step: Step): step is Fault {
  return 'gateway' in step
}

async function takeStep(world: World, story: Story, step: Step, tell: (what: string) => void): Promise<void> {
  if (step.do === 'wait') return waitFor(world, step.events)
  if (step.do === 'call') return call(world, story, step.call, tell)
  if (isFault(step)) return fault(world, story, step)
  tell(await act(world, story, step))
}

/** Until the upstream has sent so much more; not for ever, since it may have nothing more to send. */
async function waitFor({ upstream }: World, events: number): Promise<void> {
  const from = upstream.events()
  for (let tries = 0; tries < 200 && upstream.events() < from + events; tries += 1) await Bun.sleep(10)
}

async function call(
  world: World,
  { payers, calls }: Story,
  plan: CallPlan,
  tell: (what: string) => void,
): Promise<void> {
  const key = payers[plan.payer]?.keys[plan.key]?.key ?? ''
  const once = async (leaves: boolean) => {
    const made = await send(await world.someGateway(), key, plan, leaves)
    calls.push(made)
    tell(told(made))
    return made
  }
  const errand = async (leaves: boolean) => {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { isWhole, status = 0 } = await once(leaves && tries === 0)
      if (isWhole || (status > 200 && status < 500 && status !== 409 && status !== 429)) return
      await Bun.sleep(300)
    }
  }
  if (!plan.idempotent) await once(true)
  else await Promise.all([errand(true), ...(plan.twice ? [errand(false)] : [])])
}

function told({ isWhole, hasLeft, isReplay, status, requestId, body }: Call): string {
  const end = isWhole ? 'whole' : hasLeft ? 'left' : 'cut'
  const code = /"(?:code|reason)":\s*"(\w+)"/.exec(body)?.[1] ?? ''
  return `${status} ${end} ${code} ${isReplay ? 'replay of ' : ''}${requestId}`
}

const PAUSE_MS = 1_200
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

async function fault(world: World, story: Story, { do: what, gateway: index, isLate }: Fault): Promise<void> {
  const { fleet, redis } = world
  if (isLate) await waitForOld(world, story)
  const disturb = (gateway?: object, at = performance.now()) => story.disturbances.push({ what, at, gateway })
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
    case 'pause-postgres': {
      disturb()
      const resume = fleet.pausePostgres()
      await Bun.sleep(PAUSE_MS)
      resume()
      return
    }
    case 'kill-redis':
      disturb()
      await redis?.kill()
      await Bun.sleep(PAUSE_MS)
      await redis?.restart()
      return
    case 'flush-redis':
      disturb()
      await redis?.flush()
      return
    case 'pause-redis':
      disturb()
      redis?.pause()
      await Bun.sleep(PAUSE_MS)
      redis?.resume()
      return
  }
}

/** Longer than a lease lasts that nobody renews. */
const LEASE_OVER_MS = 45_000
/** Who was told to come back later is refused until then without anybody being asked. */
const COME_BACK_MS = 1_500
const PLACES = 3

/**
 * Each payer, given so many places, can use all of them at once: none is taken by what has ended. Together they ask for
 * every model, and on every surface.
 */
async function probe(world: World, { payers, seed, probes }: Story): Promise<string[]> {
  const wrong = await Promise.all(
    payers.map(async ({ accountId, keys }, payer) => {
      const path = `/api/admin/accounts/${accountId}`
      const limits = { requests_per_minute: 1_000_000, concurrent_requests: PLACES }
      await world.administer('PATCH', `${path}/limits`, limits)
      await world.administer('POST', `${path}/credit`, {
        amount: '5',
        reason: 'a probe',
        once: crypto.randomUUID(),
      })
      let found: string[] = []
      let tries = 0
      const isServed = async () => {
        if (tries > 0) await Bun.sleep(COME_BACK_MS)
        tries += 1
        const asked = Array.from({ length: PLACES }, async (_, place) => {
          const plan = probeOf(`probe-${seed}-${payer}-${tries}-${place}`, payer, payer * PLACES + place)
          return send(await world.someGateway(), keys[payer === CAPPED ? 1 : 0].key, plan, false)
        })
        const answered = await Promise.all(asked)
        probes.push(...answered)
        const refused = answered.filter(({ isWhole }) => !isWhole)
        // The key without a cap may be the one that was revoked.
        found = refused.filter(({ status }) => status !== 401).map(told)
        return found.length === 0
      }
      await until(isServed, LEASE_OVER_MS).catch(() => undefined)
      return found.map(what => `payer ${payer} cannot use its ${PLACES} places: ${what}`)
    }),
  )
  return wrong.flat()
}

function probeOf(name: string, payer: number, index: number): CallPlan {
  const surface = SURFACES[index % SURFACES.length] ?? 'chat'
  const model = MODELS[index % MODELS.length] ?? 'chat'
  const streamed = isConversation(surface)
  const script = { events: 5, each: 5, paceMs: streamed ? 60 : 300, behaviour: 'good' } as const
  const more = { most: 100, leavesAfter: undefined, idempotent: false, twice: false }
  return { name, payer, key: 0, surface, model, streamed, script, ...more }
}
