import { cpSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { pick, type Random, randomOf } from '#tests/support/random.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import type { Clock } from '@/clock/clock.ts'
import { connect, type Database } from '@/db/connect.ts'
import { type Ledger, openLedger } from '@/ledger/ledger.ts'
import { hashCode } from '@/ledger/redeem-code.ts'
import { ledgerStore, postEntry } from '@/ledger/store.ts'
import type { HoldRequest } from '@/ledger/types.ts'
import { createLog } from '@/telemetry/log.ts'
import { type Death, type DyingFront, dyingFrontOf } from './dying-front.ts'
import { costOf, holdOf, type LedgerFixture, moreOf, newId, type Payer } from './fixture.ts'

/** An exchange as whoever runs it knows it. */
interface Exchange {
  request: HoldRequest
  /** What it may be charged in the end, by what was done so far. */
  due: bigint[]
  /** What it has cost so far. */
  told: bigint
  /** Only of one that is running do checkpoints count; of one that is reaped or noted they say nothing more. */
  state: 'asked' | 'running' | 'reaped' | 'noted' | 'over' | 'given back'
}

/** What is there whichever process lives. */
interface World {
  fixture: LedgerFixture
  random: Random
  payers: Payer[]
  exchanges: Exchange[]
  /** Payments and codes: told again, each is the same. */
  gifts: { amountNano: bigint; tell(books: Database): Promise<unknown> }[]
  dead: string[]
}

/** What one process has. */
interface Life {
  world: World
  front: DyingFront
  clock: ManualClock
  ledger: Ledger
  books: Database
  exchanges: Exchange[]
}

const CREDIT = 4_000n
const STEPS = 12
/** Longer than any of it takes, so that how busy the machine is says nothing about who is dead. */
const LONG_MS = 3_600_000
/** In which whatever waits for the database has given it up. */
const SILENCE_MS = 20_000

/** Where up to three processes die. */
export function deathsOf(seed: number): Death[] {
  const random = randomOf(-seed)
  return Array.from({ length: 1 + random(3) }, () => ({ statement: 1 + random(60), isDone: random(2) === 0 }))
}

/** What is not as it must be, and how to see it again. */
export interface Wrong {
  seed: number
  deaths: readonly Death[]
  found: string
}

/**
 * Lets one process after the other use the ledger at random, as the seed has it. Each is killed as said and leaves its
 * files to the next; one more lives to its end. Tells what is not as it must be then, and how many statements each asked.
 */
export async function runLives(
  fixture: LedgerFixture,
  seed: number,
  deaths: readonly Death[],
): Promise<{ wrong: Wrong[]; asked: number[] }> {
  const random = randomOf(seed)
  const payer = await fixture.payer(CREDIT)
  const capped = await fixture.key(payer.accountId, { period: 'total', amountNano: CREDIT })
  const payers = [payer, { ...payer, keyId: capped }]
  const world: World = { fixture, random, payers, exchanges: [], gifts: [], dead: [] }
  const asked: number[] = []
  const burials: Promise<void>[] = []
  let files = mkdtempSync(join(fixture.directory, 'life-'))
  for (const death of [...deaths, undefined]) {
    const front = await dyingFrontOf(fixture.database, death)
    const clock = manualClock()
    const address = newId()
    const life = live(world, front, clock, files, address)
    await Promise.race([life, front.dead]).catch(cause => {
      throw new Error(`seed ${seed}, deaths ${JSON.stringify(deaths)}`, { cause })
    })
    asked.push(front.asked())
    if (!front.isDead()) continue
    const left = mkdtempSync(join(fixture.directory, 'life-'))
    cpSync(files, left, { recursive: true })
    files = left
    burials.push(bury(life, clock))
    await front.gone()
    world.dead.push(address)
    if (random(2) === 0) await expire(world)
  }
  await Promise.all(burials)
  const wrong = await findWrong(world)
  return { wrong: wrong.map(found => ({ seed, deaths, found })), asked }
}

/** Lets what the dead process still waits for come to nothing, so that it closes what it has open. */
async function bury(life: Promise<void>, clock: ManualClock): Promise<void> {
  const isOver = endOf(life)
  await until(() => {
    clock.advance(1_000)
    return isOver()
  })
}

/** Whether the work has ended, however it did. */
function endOf(work: Promise<unknown>): () => boolean {
  let isOver = false
  const end = () => {
    isOver = true
  }
  void work.then(end, end)
  return () => isOver
}

async function expire({ fixture, dead }: World): Promise<void> {
  await fixture.database.sql`update process set seen = '-infinity' where address = any (${dead})`
}

/** A dead process is stopped by what it waits for, which fails. */
async function live(
  world: World,
  front: DyingFront,
  clock: ManualClock,
  files: string,
  address: string,
): Promise<void> {
  // What a process does by itself is done by the steps.
  const still: Clock = { ...clock, every: () => () => undefined }
  await using closing = new AsyncDisposableStack()
  closing.defer(() => front.close())
  const books = connect(front.url, { max: 1 })
  closing.defer(() => books.close())
  const ledger = await openLedger({
    databaseUrl: front.url,
    journalDirectory: files,
    address,
    clock: still,
    log: createLog({ level: 'silent', format: 'json' }, { write: () => undefined }),
    timings: { settleGatherMs: 0, settleTravelMs: 0, adoptionPatienceMs: LONG_MS, deadAfterMs: LONG_MS },
  })
  closing.defer(() => ledger.close())
  const life: Life = { world, front, clock, ledger, books, exchanges: [] }
  for (const ms of [LONG_MS / 2, LONG_MS / 2]) {
    clock.advance(ms)
    await answered(life, ledger.beat())
  }
  for (let step = 0; step < STEPS; step += 1) await pick(DEEDS, world.random)(life)
  await goOut(life)
}

const DEEDS = [
  begin,
  begin,
  begin,
  extend,
  work,
  note,
  end,
  end,
  away,
  lapse,
  give,
  giveBack,
  maintain,
  addUp,
]

/** What an answer is worth to a dead process. */
async function answered<Result>({ front }: Life, answer: Promise<Result>): Promise<Result> {
  const result = await answer
  if (front.isDead()) throw new Error('dead')
  return result
}

/** Some of the process's exchanges that have a hold, or had one. */
function some({ world: { random }, exchanges }: Life, most: number): Exchange[] {
  const open = exchanges.filter(({ state }) => state === 'running' || state === 'reaped' || state === 'noted')
  return open.filter((_, index) => index < most && random(3) > 0)
}

async function begin(life: Life): Promise<void> {
  const { random, payers, exchanges } = life.world
  const asked = Array.from({ length: 1 + random(3) }, (): Exchange => {
    const request = holdOf(pick(payers, random), BigInt(1 + random(60)))
    return { request, due: [0n], told: 0n, state: 'asked' }
  })
  exchanges.push(...asked)
  life.exchanges.push(...asked)
  const results = await answered(life, Promise.all(asked.map(({ request }) => life.ledger.hold(request))))
  for (const [index, exchange] of asked.entries()) if (results[index]?.granted) exchange.state = 'running'
}

async function extend(life: Life): Promise<void> {
  const more = some(life, 2).map(({ request }) =>
    life.ledger.extend(moreOf(request, request.amountNano + 20n)),
  )
  await answered(life, Promise.all(more))
}

/** Exchanges go on, and there is a heartbeat. */
async function work(life: Life): Promise<void> {
  const { random } = life.world
  for (const exchange of some(life, 9)) {
    exchange.told += BigInt(random(20))
    life.ledger.progress(exchange.request.id, exchange.told)
  }
  await beat(life)
}

async function beat(life: Life): Promise<void> {
  const running = life.exchanges.filter(({ state }) => state === 'running')
  for (const exchange of running) exchange.due = [...exchange.due, exchange.told]
  await answered(life, life.ledger.beat())
  for (const exchange of running) exchange.due = [exchange.told]
}

/** Answers are about to be given. */
async function note(life: Life): Promise<void> {
  for (const exchange of some(life, 2)) {
    const cost = BigInt(life.world.random(70))
    life.ledger.note(costOf(exchange.request, cost))
    exchange.state = 'noted'
    exchange.due = [cost]
  }
}

function settleSome(life: Life): Promise<unknown>[] {
  const { random } = life.world
  return some(life, 4).flatMap(exchange => {
    const cost = BigInt(random(4) && random(70))
    // Nobody notes that nothing is charged, unless something else was noted.
    const isNoted = cost > 0n || exchange.state === 'noted'
    exchange.due = isNoted ? [cost] : [...exchange.due, cost]
    const settlements = Array.from({ length: 1 + random(2) }, () =>
      life.ledger.settle(costOf(exchange.request, cost)),
    )
    exchange.state = 'over'
    return Promise.all(settlements).then(() => {
      if (!life.front.isDead()) exchange.due = [cost]
    })
  })
}

async function end(life: Life): Promise<void> {
  await answered(life, Promise.all(settleSome(life)))
}

/** The database is silent for so long that charges go to the journal and holds are refused; then it is back. */
async function away(life: Life): Promise<void> {
  const { front, clock, ledger, world } = life
  front.leave()
  const refused = ledger.hold(holdOf(pick(world.payers, world.random), 5n))
  const isOver = endOf(Promise.allSettled([...settleSome(life), refused]))
  let leftMs = SILENCE_MS
  await until(() => {
    clock.advance(Math.min(500, leftMs))
    leftMs = Math.max(0, leftMs - 500)
    return isOver() && ledger.state().settlementsWaiting === 0
  })
  front.comeBack()
  // The writers wait a moment before they try again.
  const probe = holdOf(pick(world.payers, world.random), 1n)
  await inTime(clock, ledger.hold(probe))
  await inTime(clock, ledger.release(probe))
  await answered(life, Promise.resolve())
}

/** While the work is done time passes as it does. */
async function inTime(clock: ManualClock, work: Promise<unknown>): Promise<void> {
  const isOver = endOf(work)
  let last = performance.now()
  await until(() => {
    const now = performance.now()
    clock.advance(now - last)
    last = now
    return isOver()
  })
}

/** Deadlines pass, and a reaper comes. */
async function lapse(life: Life): Promise<void> {
  const late = some(life, 1)
  const ids = late.map(({ request }) => request.id)
  await life.world.fixture.database.sql`
    update hold set deadline = '-infinity' where id = any (${ids}::uuid[])`
  await beat(life)
  for (const exchange of late) if (exchange.state === 'running') exchange.state = 'reaped'
}

/** A payment, or a code; one of before is told again. */
async function give(life: Life): Promise<void> {
  const { fixture, random, payers, gifts } = life.world
  const accountId = payers[0]?.accountId ?? 0
  const amountNano = BigInt(1 + random(50))
  const key = newId()
  if (random(2) === 0) {
    const posting = {
      accountId,
      kind: 'topup',
      amountNano,
      ref: key,
      idempotency: { scope: 'stripe', key },
    } as const
    gifts.push({ amountNano, tell: ({ sql }) => postEntry(sql, { ...posting, id: newId() }) })
  } else {
    const [code = ''] = await fixture.codes({ amountNano, uses: 1 })
    gifts.push({ amountNano, tell: books => ledgerStore(books).redeem(key, hashCode(code), accountId) })
  }
  const told = [gifts.at(-1), pick(gifts, random)]
  await answered(life, Promise.all(told.map(gift => gift?.tell(life.books))))
}

async function giveBack(life: Life): Promise<void> {
  const ended = life.exchanges.filter(({ state }) => state === 'over')
  if (ended.length === 0) return
  const exchange = pick(ended, life.world.random)
  exchange.state = 'given back'
  await answered(life, life.ledger.giveBack([exchange.request], 'a test'))
}

async function maintain(life: Life): Promise<void> {
  await answered(life, life.ledger.maintain())
}

/** The day is added up before it is over, as by a clock that is ahead; the month as a page asks for it. */
async function addUp(life: Life): Promise<void> {
  const { sql } = life.books
  await answered(life, sql`select ledger_roll_up(now() + interval '26 hours')`)
  await answered(life, sql`select ledger_total_months(${life.world.payers[0]?.accountId ?? 0}, 5)`)
}

/** The last one finishes what it began, and what the others left. */
async function goOut(life: Life): Promise<void> {
  const { world, ledger, books } = life
  for (const { tell } of world.gifts) await answered(life, tell(books))
  while (life.exchanges.some(({ state }) => /running|reaped|noted/.test(state))) await end(life)
  await answered(life, expire(world))
  await beat(life)
  const back = world.exchanges.filter(({ state }) => state === 'given back')
  await answered(
    life,
    ledger.giveBack(
      back.map(({ request }) => request),
      'a test',
    ),
  )
  await maintain(life)
}

async function findWrong({ fixture, payers, exchanges, gifts }: World): Promise<string[]> {
  const { sql } = fixture.database
  const accountId = payers[0]?.accountId ?? 0
  const rows = await sql<{ id: string; charged: bigint; refunded: bigint }[]>`
    select coalesce(case when kind = 'usage_refund' then ref end, id::text) as id,
      -coalesce(sum(amount) filter (where kind <> 'usage_refund'), 0)::bigint as charged,
      coalesce(sum(amount) filter (where kind = 'usage_refund'), 0)::bigint as refunded
    from entry where account_id = ${accountId} and kind in ('usage', 'usage_trueup', 'usage_refund') group by 1`
  const found = new Map(rows.map(row => [row.id, row]))
  const wrong: string[] = []
  const spent = new Map(payers.map(({ keyId }) => [keyId, 0n]))
  for (const { request, due, state } of exchanges) {
    const { charged, refunded } = found.get(request.id) ?? { charged: 0n, refunded: 0n }
    found.delete(request.id)
    spent.set(request.keyId, (spent.get(request.keyId) ?? 0n) + charged - refunded)
    const isRight = due.includes(charged) && refunded === (state === 'given back' ? charged : 0n)
    if (!isRight)
      wrong.push(`${state} exchange: charged ${charged}, refunded ${refunded}, due ${due.join(' or ')}`)
  }
  for (const row of found.values()) wrong.push(`charged of nobody: ${row.charged} of ${row.id}`)
  const given = gifts.reduce((sum, { amountNano }) => sum + amountNano, CREDIT)
  const due = given - [...spent.values()].reduce((sum, nano) => sum + nano, 0n)
  const [row] = await sql<
    { balance: bigint; pending: bigint; holds: bigint; spent: bigint; waiting: bigint }[]
  >`
    select credits - debits as balance, w.pending, (select count(*) from hold h where h.account_id = ${accountId}) as holds,
      coalesce(b.spent, 0) as spent, coalesce(b.pending, 0) as waiting
    from wallet w left join key_budget b on b.key_id = ${payers[1]?.keyId ?? 0} where w.account_id = ${accountId}`
  const dueRow = {
    balance: due,
    pending: 0n,
    holds: 0n,
    spent: spent.get(payers[1]?.keyId ?? 0) ?? 0n,
    waiting: 0n,
  }
  const [is, must] = [row, dueRow].map(one =>
    JSON.stringify(one, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
  )
  if (is !== must) wrong.push(`${is}, due ${must}`)
  return wrong
}
