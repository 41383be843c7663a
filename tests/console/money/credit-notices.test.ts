import { expect, test } from 'bun:test'
import type { Visitor } from '#tests/support/gateway/console.ts'
import { fileConsole } from '#tests/support/gateway/file-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import type { Mail } from '@/console/mail.ts'
import { keepTellingOfLowCredit, tellOfLowCredit } from '@/console/money/credit-notices.ts'
import { postEntry } from '@/ledger/store.ts'
import { parseMoney } from '@/pricing/money.ts'

// Every account begins with a trial credit of 1.00.
const { gateway, site } = await fileConsole()
const smtp = (host = 'mail.example.com') =>
  gateway.apply(`console: { smtp: { host: ${host}, from: "t@example.com" } }`)
await smtp()
const { database } = gateway
let people = 0

async function holder(below?: string): Promise<Visitor> {
  const visitor = await site.signUp(`holder-${++people}@example.com`)
  if (below !== undefined) await site.call(visitor, 'PUT /api/billing/notice', { body: { below } })
  return visitor
}

async function move({ accountId }: Visitor, amount: string): Promise<void> {
  await postEntry(database.sql, {
    id: Bun.randomUUIDv7(),
    accountId,
    kind: amount.startsWith('-') ? 'debit' : 'topup',
    amountNano: parseMoney(amount) ?? 0n,
    reason: 'a test',
  })
}

/** Tells who is due, by a mail server that does as `send` says; the mails that it took, by address. */
async function tell(send: (mail: Mail) => unknown = () => {}, signal = new AbortController().signal) {
  const taken: string[] = []
  const sendMail = async (_server: unknown, mail: Mail) => {
    await send(mail)
    taken.push(mail.to)
  }
  await tellOfLowCredit({ ...site.console, sendMail }, signal)
  return taken.sort()
}

/** What nodemailer says of a server that does not take a mail. */
function refusal(permanent: boolean, [code, command]: [string, string]): Error {
  return Object.assign(new Error('no'), { code, command, permanent })
}

test('a holder is told once that the balance is below the amount they named, and again once that is so after credit was added', async () => {
  const ada = await holder('0.5')
  expect(await tell()).toEqual([])
  await move(ada, '-0.50')
  expect(await tell(), 'as much as that is not below').toEqual([])
  await move(ada, '-0.000000001')
  expect(await tell()).toEqual([ada.email])
  await move(ada, '-0.4')
  expect(await tell()).toEqual([])
  await move(ada, '1')
  expect(await tell()).toEqual([])
  await move(ada, '-1')
  expect(await tell()).toEqual([ada.email])
  // Nobody looked while it was higher.
  await move(ada, '10')
  await move(ada, '-9.9')
  expect(await tell()).toEqual([ada.email])
})

test('the mail says what is left, below what, and where credit is added', async () => {
  const ada = await holder('0.75')
  await move(ada, '-0.9876')
  const mails: Mail[] = []
  await tell(mail => mails.push(mail))
  expect(mails).toHaveLength(1)
  expect(mails[0]?.subject).toBe('Tollgate: 0.0124 USD left')
  expect(mails[0]?.text).toContain('0.0124 USD, which is below the 0.75 USD')
  expect(mails[0]?.text).toContain(`\n${site.console.publicUrl()}/billing\n`)
})

test('the mail of who has nothing left says that requests are refused', async () => {
  const ada = await holder('0.75')
  await move(ada, '-1')
  const mails: Mail[] = []
  await tell(mail => mails.push(mail))
  expect(mails[0]?.subject).toBe('Tollgate: your credit is used up')
  expect(mails[0]?.text).toContain('Requests are refused. Add credit')
})

test('whoever names an amount that the balance is below already is told, and not again for another such amount', async () => {
  const ada = await holder('5')
  expect(await tell()).toEqual([ada.email])
  const name = (below: string) => site.call(ada, 'PUT /api/billing/notice', { body: { below } })
  await name('4')
  expect(await tell()).toEqual([])
  await name('0.6')
  expect(await tell(), 'the balance is above it').toEqual([])
  await move(ada, '-0.5')
  expect(await tell()).toEqual([ada.email])
})

test('an amount of one account is that of no other, and taken away it tells nobody', async () => {
  const [ada, eve] = [await holder('2.5'), await holder()]
  expect(await site.call(ada, 'GET /api/billing/notice', {})).toEqual({ below: '2.500000000' })
  expect(await site.call(eve, 'GET /api/billing/notice', {})).toEqual({ below: null })
  await site.call(eve, 'PUT /api/billing/notice', { body: { below: null } })
  expect(await site.call(ada, 'GET /api/billing/notice', {})).toEqual({ below: '2.500000000' })
  expect(await site.call(ada, 'PUT /api/billing/notice', { body: { below: null } })).toEqual({ below: null })
  expect(await tell()).toEqual([])
})

test.each(['0', '-1', '0.0000000001', 'five', '1e3', ''])('%j is no amount', async below => {
  expect(await site.fail(await holder(), 'PUT /api/billing/notice', { body: { below } })).toMatchObject({
    status: 400,
    field: 'below',
  })
})

test('several processes that tell at once send each mail once', async () => {
  const low: string[] = []
  for (let n = 0; n < 12; n++) low.push((await holder('3')).email)
  const told = await Promise.all([tell(), tell(), tell(), tell()])
  expect(told.flat().sort()).toEqual(low.sort())
})

test('a mail that the server could not take is sent the next time, and the others do not wait for it to be tried', async () => {
  await holder('3')
  await holder('3')
  let tried = 0
  const away = () => {
    tried += 1
    throw new Error('connection refused')
  }
  expect(await tell(away)).toEqual([])
  expect(tried).toBe(1)
  expect(await tell()).toHaveLength(2)
})

test.each([
  ['address', 'EENVELOPE', 'RCPT TO'],
  ['content', 'EMESSAGE', 'DATA'],
])(
  'a mail whose %s is refused for now keeps nobody else from being told, and is tried again; one refused for good is not',
  async (_what, code, command) => {
    const where: [string, string] = [code, command]
    const [now, good, other] = [await holder('3'), await holder('3'), await holder('3')]
    const refusing = ({ to }: Mail) => {
      if (to === now.email) throw refusal(false, where)
      if (to === good.email) throw refusal(true, where)
    }
    expect(await tell(refusing)).toEqual([other.email])
    expect(await tell()).toEqual([now.email])
  },
)

test('a process that stops does not wait for a silent mail server, and leaves the mail to the next one', async () => {
  const ada = await holder('3')
  const ending = new AbortController()
  const silent = () => {
    ending.abort()
    return new Promise(() => {})
  }
  expect(await tell(silent, ending.signal)).toEqual([])
  expect(await tell(() => {}, ending.signal)).toEqual([])
  expect(await tell()).toEqual([ada.email])
})

test('nobody is told who may not sign in', async () => {
  const ada = await holder('3')
  await database.sql`update console_user set status = 'disabled' where id = ${ada.userId}`
  expect(await tell()).toEqual([])
  await database.sql`delete from credit_notice where account_id = ${ada.accountId}`
})

test('nobody is told of a suspended account until it is resumed', async () => {
  const ada = await holder('3')
  await database.sql`update account set status = 'suspended' where id = ${ada.accountId}`
  expect(await tell()).toEqual([])
  await database.sql`update account set status = 'active' where id = ${ada.accountId}`
  expect(await tell()).toEqual([ada.email])
})

test('without a mail server no amount is taken, one that was can be taken away, and who is due is told once there is one', async () => {
  const [ada, eve] = [await holder('3'), await holder('3')]
  await gateway.apply('console: { signup: true }')
  expect(await site.fail(ada, 'PUT /api/billing/notice', { body: { below: '2' } })).toMatchObject({
    status: 409,
  })
  await site.call(eve, 'PUT /api/billing/notice', { body: { below: null } })
  expect(await tell()).toEqual([])
  await smtp()
  expect(await tell()).toEqual([ada.email])
})

test('a console tells by itself, and again a minute later what could not be told, which is in its log', async () => {
  const clock = manualClock()
  const mails: Mail[] = []
  const ada = await holder('3')
  const stop = keepTellingOfLowCredit({
    ...site.console,
    clock,
    async sendMail(_server, mail) {
      mails.push(mail)
      if (mails.length === 1) throw new Error('no mail today')
    },
  })
  await until(() => site.logLines.some(line => line.includes('no mail today')))
  await until(() => {
    clock.advance(60_000)
    return mails.length === 2
  })
  await stop()
  expect(mails.map(({ to }) => to)).toEqual([ada.email, ada.email])
  expect(await tell()).toEqual([])
})
