import { parseArgs } from 'node:util'
import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import type { Payer } from '#tests/support/gateway/payer.ts'
import type { ServerProcess } from '#tests/support/gateway/serve-process.ts'
import {
  type PacedCall,
  type PacedUpstream,
  pacedCall,
  pacedUpstream,
} from '#tests/support/upstreams/paced-upstream.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import type { AuditReport } from '@/ledger/audit.ts'

/** 2 per million tokens of output, in nano. */
const TOKEN_NANO = 2_000
const PRICES = '{ input: 0, output: 2 }'
const RICH = 10n ** 12n
/** Pays for a dozen of the answers: this account ends in 402s. */
const POOR = 25_000_000n
const HOLDS_GONE_MS = 15_000
/** A stream whose credit ends is cut when that is next looked at: every 250 ms, and later on a busy machine. */
const OVERRUN_MS = 500
/** One break in so many is of Postgres. */
const POSTGRES_EVERY = 6

interface KillsOptions {
  gateways: number
  streams: number
  kills: number
  /** Between two breaks. */
  pauseMs: number
  events: number
  /** Of each event. Streams of more than 1,024 in all have their holds extended. */
  tokens: number
  paceMs: number
  /** True: the dead are taken for dead at once, as if their ten seconds had passed. */
  hurry?: boolean
}

interface KillsResult {
  kills: number
  postgresCrashes: number
  calls: PacedCall[]
  audit: AuditReport
  holdsLeft: number
  holdsGoneMs: number
  /** Requests that were charged more than the upstream sent for them. */
  doubleCharges: number
  /** Answers that came whole and were charged less. */
  undercharged: number
  /** Answers that came whole and have no stored result. */
  unrecorded: number
  lowestWalletNano: bigint
  /** How far below zero a wallet may be: what all streams of an account deliver until they are looked at again. */
  overrunNano: bigint
  costNano: number
  chargedNano: number
}

/** `bun run chaos kills [--kills 20] [--gateways 4] [--streams 60] [--tokens 10]`; 80 events with so many tokens each. */
export async function run(args: readonly string[]): Promise<boolean> {
  const text = (preset: string) => ({ type: 'string', default: preset }) as const
  const options = { kills: text('20'), gateways: text('4'), streams: text('60'), tokens: text('10') }
  const { values } = parseArgs({ args: [...args], options })
  const result = await runKills({
    kills: Number(values.kills),
    gateways: Number(values.gateways),
    streams: Number(values.streams),
    pauseMs: 1_500,
    events: 80,
    tokens: Number(values.tokens),
    paceMs: 50,
  })
  console.log(describe(result))
  return holds(result)
}

export function holds(result: KillsResult): boolean {
  const { audit, doubleCharges, holdsLeft, lowestWalletNano, overrunNano } = result
  return audit.ok && holdsLeft === 0 && doubleCharges === 0 && lowestWalletNano >= -overrunNano
}

/** Streams run without a pause while gateways are killed and started anew, and Postgres crashes. */
export async function runKills(options: KillsOptions): Promise<KillsResult> {
  const upstream = pacedUpstream(options)
  const fleet = await startFleet({ gateways: options.gateways, upstreamUrl: upstream.url, prices: PRICES })
  try {
    const credits = [RICH, RICH, RICH, RICH, RICH, POOR]
    const payers = await Promise.all(credits.map(credit => fleet.payer(credit)))
    const load = startLoad(fleet, payers, options)
    // As many answers have begun as there are streams: a kill finds some in their middle, however slow the start was.
    await until(() => upstream.sent.size >= options.streams)
    const { lastKillAt, ...broken } = await breakThings(fleet, load.flowsThrough, options)
    const calls = await load.stop()
    if (options.hurry) await fleet.buryDead()
    // Without their ten seconds there is no figure to tell: the start of a gateway alone may take longer on a busy machine.
    const patience = options.hurry ? undefined : Math.max(0, HOLDS_GONE_MS - (performance.now() - lastKillAt))
    await until(async () => (await fleet.holds()) === 0, patience).catch(() => undefined)
    return {
      ...broken,
      calls,
      holdsLeft: await fleet.holds(),
      holdsGoneMs: performance.now() - lastKillAt,
      audit: await fleet.audit(),
      overrunNano: overrunOf(options, credits.length),
      ...(await compare(fleet, upstream, calls)),
    }
  } finally {
    await fleet.close()
    await upstream.stop()
  }
}

function overrunOf({ streams, tokens, paceMs }: KillsOptions, accounts: number): bigint {
  const perStream = Math.ceil(OVERRUN_MS / paceMs) * tokens * TOKEN_NANO
  return BigInt(Math.ceil(streams / accounts) * perStream)
}

/** Callers who keep no step, so that a kill at any time finds some of them in the middle of an answer. */
function startLoad(
  fleet: Fleet,
  payers: readonly Payer[],
  { streams, events, paceMs }: Pick<KillsOptions, 'streams' | 'events' | 'paceMs'>,
) {
  const calls: PacedCall[] = []
  /** By the names of the calls whose answers flow. */
  const flowing = new Map<string, ServerProcess>()
  let stopping = false
  let serial = 0
  const callers = Array.from({ length: streams }, async (_, caller) => {
    await Bun.sleep((caller / streams) * events * paceMs)
    while (!stopping) {
      serial += 1
      const running = fleet.running()
      const gateway = running[serial % running.length]
      if (gateway === undefined) {
        await Bun.sleep(20)
        continue
      }
      const payer = payers[caller % payers.length]
      const name = `${caller}-${serial}`
      const call = await pacedCall(gateway.apiUrl, payer?.key ?? '', name, () => flowing.set(name, gateway))
      flowing.delete(name)
      calls.push(call)
      if (call.status !== 200) await Bun.sleep(100)
    }
  })
  return {
    flowsThrough: (gateway: ServerProcess | undefined) => [...flowing.values()].some(one => one === gateway),
    async stop() {
      stopping = true
      await Promise.all(callers)
      return calls
    },
  }
}

async function breakThings(
  fleet: Fleet,
  flowsThrough: (gateway: ServerProcess | undefined) => boolean,
  { kills, pauseMs }: KillsOptions,
) {
  const replaced: Promise<void>[] = []
  let postgresCrashes = 0
  for (let kill = 1; kill <= kills; kill += 1) {
    await Bun.sleep(pauseMs * (0.5 + Math.random()))
    if (kill % POSTGRES_EVERY === 0) {
      fleet.crashPostgres()
      postgresCrashes += 1
    }
    const index = kill % fleet.gateways.length
    // Whoever replaces the last victim of this place runs by now, or is waited for.
    await replaced[index]
    await until(() => flowsThrough(fleet.gateways[index]))
    const victim = fleet.kill(index)
    await victim.dead
    replaced[index] = victim.replaced
  }
  const lastKillAt = performance.now()
  await Promise.all(replaced)
  return { kills, postgresCrashes, lastKillAt }
}

/** What the upstream sent against what was charged, request by request and in all. */
async function compare(fleet: Fleet, upstream: PacedUpstream, calls: readonly PacedCall[]) {
  const charged = await fleet.charged()
  const cost = ({ name }: PacedCall) => (upstream.sent.get(name) ?? 0) * TOKEN_NANO
  const paid = ({ requestId }: PacedCall) => Number(charged.get(requestId ?? '') ?? 0n)
  const stored = new Set(
    (await fleet.database.sql<{ id: string }[]>`select id from exchange`).map(({ id }) => id),
  )
  const [lowest] = await fleet.database.sql<{ balance: bigint }[]>`
    select min(credits - debits) as balance from wallet`
  return {
    doubleCharges: calls.filter(call => paid(call) > cost(call)).length,
    undercharged: calls.filter(call => call.complete && paid(call) < cost(call)).length,
    unrecorded: calls.filter(call => call.complete && !stored.has(call.requestId ?? '')).length,
    lowestWalletNano: lowest?.balance ?? 0n,
    costNano: [...upstream.sent.values()].reduce((sum, tokens) => sum + tokens * TOKEN_NANO, 0),
    chargedNano: [...charged.values()].reduce((sum, nano) => sum + Number(nano), 0),
  }
}

function describe(result: KillsResult): string {
  const { calls, kills, postgresCrashes, audit, costNano, chargedNano } = result
  const statuses = new Map<string, number>()
  for (const { status, complete } of calls) {
    const name =
      status === undefined ? 'no answer' : status !== 200 ? String(status) : complete ? '200' : 'cut'
    statuses.set(name, (statuses.get(name) ?? 0) + 1)
  }
  const unbilled = costNano - chargedNano
  const cuts = statuses.get('cut') ?? 0
  const failures = audit.checks.filter(({ count, informational }) => count > 0 && !informational)
  return [
    `kills: ${kills} kill -9 of gateways and ${postgresCrashes} crashes of Postgres under ${calls.length} calls (${[...statuses].map(([name, count]) => `${count} ${name}`).join(', ')})`,
    `  ${failures.length} audit failures, ${result.holdsLeft} holds left ${(result.holdsGoneMs / 1000).toFixed(1)} s after the last kill, ` +
      `${result.doubleCharges} double charges, lowest wallet ${result.lowestWalletNano} nano (at least ${-result.overrunNano})`,
    `  unbilled: ${((100 * unbilled) / costNano).toFixed(2)} % of what the upstream sent, ` +
      `${(unbilled / TOKEN_NANO / Math.max(1, cuts)).toFixed(0)} tokens for each of ${cuts} cut streams; ` +
      `of the whole answers ${result.undercharged} not charged in full, ${result.unrecorded} without a stored result`,
    ...failures.map(({ name, first }) => `  ${name}: ${first.join('; ')}`),
  ].join('\n')
}
