import { insist } from '#tests/support/insist.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { act } from './acts.ts'
import { type CallPlan, send, told } from './caller.ts'
import { breakIt } from './faults.ts'
import { follow, isFollowed } from './follow.ts'
import { type Fault, PAYERS, planOf, type Step } from './plan.ts'
import { probe } from './probe.ts'
import type { Story } from './story.ts'
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
    bans: [],
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
  const look = () =>
    insist(async () => {
      await world.fleet.buryDead()
      return findWrong(world, story, isPatient)
    })
  const isRight = async () => {
    await Bun.sleep(500)
    return (await look()).length === 0
  }
  await until(isRight, isPatient ? ADOPTED_MS : 20_000).catch(() => undefined)
  const wrong = await look()
  const isOffered = await world.offerAll()
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
  if (isFault(step)) return breakIt(world, story, step)
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
    if (isFollowed(plan) && made.isWhole) await follow(made, key, world.someGateway)
    calls.push(made)
    tell(told(made))
    return made
  }
  const errand = async (leaves: boolean) => {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { isWhole, status = 0 } = await once(leaves && tries === 0)
      if (isWhole || (status > 200 && status < 500 && status !== 409 && status !== 429)) return
      // Its film is not made: asked again, it is that one again.
      if (status === 200 && isFollowed(plan)) return
      await Bun.sleep(300)
    }
  }
  if (!plan.idempotent) await once(true)
  else await Promise.all([errand(true), ...(plan.twice ? [errand(false)] : [])])
}
