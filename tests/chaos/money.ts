import { parseArgs } from 'node:util'
import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import type { Payer } from '#tests/support/gateway/payer.ts'
import { insist } from '#tests/support/insist.ts'
import { childrenOf } from '#tests/support/processes.ts'
import { type PacedUpstream, pacedUpstream } from '#tests/support/upstreams/paced-upstream.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { runStore } from '@/exchange/idempotency/store.ts'
import { createCodes, ledgerStore, postEntry } from '@/ledger/store.ts'

/** 2 per million tokens of output, in nano. */
const TOKEN_NANO = 2_000n
const EVENTS = 40
const WHOLE_NANO = BigInt(EVENTS * 10) * TOKEN_NANO
const CREDIT = 10n ** 10n
const CALLERS = 24
const TOP_UP = 1_234_567n
const CODE = { amountNano: 7_000_000n, uses: 3 }
const ADOPTED_MS = 75_000
/** A caller asks again this often before it gives up. */
const TRIES = 60

/** One request, which its caller sends again under its Idempotency-Key until it has a whole answer. */
interface Errand {
  name: string
  /** Of the answers that began: a run whose process dies is followed by another, with a bill of its own. */
  requestIds: Set<string>
  /** Of the answers that came whole, replays included: they are of one run. */
  answers: Set<string>
}

/**
 * `bun run chaos money [--kills 16] [--redis URL]`: callers repeat requests under their Idempotency-Key, some twice at
 * once and some with keys that have a cap, while payments are told three times each and codes are redeemed by all at
 * once, and gateways, their workers (with Redis: two each) and Postgres are killed. What each account has left must be
 * what was put in and taken out, computed apart.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const options = { kills: { type: 'string', default: '16' }, redis: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const upstream = pacedUpstream({ events: EVENTS, paceMs: 40 })
  const env = values.redis === undefined ? {} : { WORKERS: '2', REDIS_URL: values.redis }
  const prices = '{ input: 0, output: 2 }'
  const fleet = await startFleet({ gateways: 2, upstreamUrl: upstream.url, prices, env })
  try {
    const caps = [undefined, undefined, undefined, CODE.amountNano * 4n, CODE.amountNano * 4n]
    const payers = await Promise.all(
      caps.map(cap =>
        fleet.payer(CREDIT, cap === undefined ? {} : { cap: { amountNano: cap, period: 'day' } }),
      ),
    )
    const load = startLoad(fleet, payers)
    const killed = await breakThings(fleet, Number(values.kills))
    const { errands, paidIn } = await load.stop()
    await until(async () => (await fleet.holds()) === 0, 30_000).catch(() => undefined)
    // What the dead noted is posted by whoever starts after them, or within a minute.
    const isPosted = async () =>
      (await wrongErrands(fleet, upstream, errands)).length + (await notGivenBack(fleet)).length === 0
    await until(isPosted, ADOPTED_MS).catch(() => undefined)
    const { ok } = await fleet.audit()
    const holds = await fleet.holds()
    const wrong = [
      ...(await wrongErrands(fleet, upstream, errands)),
      ...(await wrongBalances(fleet, payers, paidIn)),
      ...(await notGivenBack(fleet)),
    ]
    const [dead] = await fleet.database.sql<{ runs: number }[]>`
      select count(*)::integer as runs from idempotent_run where taken_over`
    const whole = errands.filter(({ answers }) => answers.size > 0).length
    console.log(
      `money: ${killed}; ${errands.length} requests, ${whole} of them answered in full, ${dead?.runs} after a run that died`,
    )
    console.log(`  ${wrong.length} wrong, ${holds} holds left, audit ${ok ? 'green' : 'RED'}`)
    for (const what of wrong) console.log(`  ${what}`)
    return wrong.length === 0 && holds === 0 && ok
  } finally {
    await fleet.close()
    await upstream.stop()
  }
}

function startLoad(fleet: Fleet, payers: readonly Payer[]) {
  const errands: Errand[] = []
  const paidIn = new Map(payers.map(({ accountId }) => [accountId, CREDIT]))
  let stopping = false
  const keepOn = async (act: (round: number) => Promise<unknown>) => {
    for (let round = 0; !stopping; round += 1) await act(round)
  }
  const callers = Array.from({ length: CALLERS }, (_, caller) =>
    keepOn(async round => {
      const errand = {
        name: `${caller}-${round}`,
        requestIds: new Set<string>(),
        answers: new Set<string>(),
      }
      errands.push(errand)
      const key = payers[caller % payers.length]?.key ?? ''
      await Promise.all(Array.from({ length: caller % 4 === 0 ? 2 : 1 }, () => send(fleet, key, errand)))
      if (errand.answers.size === 0) await Bun.sleep(100)
    }),
  )
  const store = ledgerStore(fleet.database)
  const codes = Array.from({ length: 10 }, () => crypto.getRandomValues(new Uint8Array(32)))
  const money = createCodes(fleet.database.sql, codes, CODE).then(() =>
    keepOn(async round => {
      const { accountId } = payers[round % payers.length] ?? { accountId: 0 }
      const idempotency = { scope: 'stripe', key: `cs_${round}` } as const
      const posting = {
        accountId,
        kind: 'topup',
        amountNano: TOP_UP,
        ref: `pi_${round}`,
        idempotency,
      } as const
      const tell = () => insist(() => postEntry(fleet.database.sql, { ...posting, id: Bun.randomUUIDv7() }))
      await Promise.all([tell(), tell(), tell()])
      paidIn.set(accountId, (paidIn.get(accountId) ?? 0n) + TOP_UP)
      const code = codes[round % codes.length] ?? new Uint8Array(32)
      await Promise.all(
        payers.map(payer => insist(() => store.redeem(Bun.randomUUIDv7(), code, payer.accountId))),
      )
      await Bun.sleep(60)
    }),
  )
  return {
    async stop() {
      stopping = true
      await Promise.all([...callers, money])
      return { errands, paidIn }
    },
  }
}

/** Sends it until there is a whole answer, or no money for one. */
async function send(fleet: Fleet, key: string, { name, requestIds, answers }: Errand): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const running = fleet.running()
    const gateway = running[Math.floor(Math.random() * running.length)]
    const messages = [{ role: 'user', content: `n=${name}` }]
    try {
      const response = await fetch(`${gateway?.apiUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': name,
        },
        body: JSON.stringify({ model: 'm', stream: true, messages }),
      })
      const id = response.headers.get('x-request-id')
      if (response.status === 200 && id !== null) requestIds.add(id)
      const text = await response.text()
      if (text.includes('[DONE]')) answers.add(`${id}`)
      if (text.includes('[DONE]') || response.status === 402) return
    } catch {
      // The gateway is gone.
    }
    await Bun.sleep(200 + Math.random() * 300)
  }
}

async function breakThings(fleet: Fleet, kills: number): Promise<string> {
  const counts = { workers: 0, gateways: 0, crashes: 0 }
  const replaced: Promise<void>[] = []
  for (let kill = 1; kill <= kills; kill += 1) {
    await Bun.sleep(1_500 * (0.5 + Math.random()))
    if (kill % 4 === 0) {
      fleet.crashPostgres()
      counts.crashes += 1
    }
    const index = kill % 2
    await replaced[index]
    const gateway = fleet.gateways[index]
    const workers = gateway === undefined ? [] : childrenOf(gateway.pid)
    const worker = workers[Math.floor(Math.random() * workers.length)]
    if (worker !== undefined && kill % 3 !== 0) {
      process.kill(worker, 'SIGKILL')
      counts.workers += 1
    } else {
      const victim = fleet.kill(index)
      for (const each of workers) process.kill(each, 'SIGKILL')
      await victim.dead
      replaced[index] = victim.replaced
      counts.gateways += 1
    }
  }
  await Promise.all(replaced)
  return `kill -9 of ${counts.workers} workers and ${counts.gateways} gateways, ${counts.crashes} crashes of Postgres`
}

/** Whatever was charged beyond what the upstream sent, or has more than one answer, or one that is not charged in full. */
async function wrongErrands(
  fleet: Fleet,
  { sent }: PacedUpstream,
  errands: readonly Errand[],
): Promise<string[]> {
  const charged = await fleet.charged()
  return errands.flatMap(({ name, requestIds, answers }) => {
    const paid = [...requestIds].map(id => charged.get(id) ?? 0n)
    const isOvercharged = sum(paid) > BigInt(sent.get(name) ?? 0) * TOKEN_NANO
    const isInFull = [...answers].every(id => charged.get(id) === WHOLE_NANO)
    const isWrong = isOvercharged || answers.size > 1 || !isInFull
    return isWrong ? [`request ${name}: ${answers.size} answers, charged ${paid.join(' and ')}`] : []
  })
}

/** Charges of runs whose process died and whose retry ran in their place. */
async function notGivenBack({ database }: Fleet): Promise<string[]> {
  const left = await ledgerStore(database).notGivenBack(await runStore(database).takenOver())
  return left.map(({ id, amountNano }) => `dead run ${id}: ${amountNano} not given back`)
}

async function wrongBalances(
  { database: { sql } }: Fleet,
  payers: readonly Payer[],
  paidIn: Map<number, bigint>,
) {
  const wrong: string[] = []
  for (const { accountId, keyId } of payers) {
    const entries = await sql<{ kind: string; amount: bigint }[]>`
      select kind, amount from entry where account_id = ${accountId}`
    const of = (...kinds: string[]) =>
      sum(entries.filter(({ kind }) => kinds.includes(kind)).map(entry => entry.amount))
    const spent = -of('usage', 'usage_trueup', 'usage_refund')
    const [found] = await sql<{ balance: bigint; pending: bigint; spent: bigint | null }[]>`
      select credits - debits as balance, pending, (select b.spent from key_budget b where b.key_id = ${keyId})
      from wallet where account_id = ${accountId}`
    const due = (paidIn.get(accountId) ?? 0n) + of('promo') - spent
    if (found?.balance !== due || found.pending !== 0n || (found.spent ?? spent) !== spent) {
      wrong.push(`account ${accountId}: ${JSON.stringify(found, String)}, due ${due}, spent ${spent}`)
    }
    if (of('promo') % CODE.amountNano !== 0n) wrong.push(`account ${accountId}: redeemed ${of('promo')}`)
  }
  const [codes] = await sql<{ redeemed: bigint }[]>`
    select coalesce(sum(amount), 0)::bigint as redeemed from entry where kind = 'promo'`
  const most = 10n * BigInt(CODE.uses) * CODE.amountNano
  if ((codes?.redeemed ?? 0n) > most) wrong.push(`codes gave ${codes?.redeemed}, and are worth ${most}`)
  return wrong
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((all, amount) => all + amount, 0n)
}
