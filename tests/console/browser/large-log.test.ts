import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { furnish, seedRequests } from './furnish.ts'
import { becomeOwner, openStage, type Stage } from './stage.ts'

const REQUESTS = 100_000
/** Loads of each page; the quickest counts, since the machine does other work as well. */
const ROUNDS = 5

describe.skipIf(!HAS_BROWSER)(`with ${REQUESTS} requests in the log`, () => {
  let stage: Stage
  let owner: Visitor

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    await becomeOwner(owner, stage)
    const { accountId } = await furnish(stage, owner)
    const [row] = await stage.database.sql`select id from api_key where account_id = ${accountId} limit 1`
    await seedRequests(stage, { accountId, keyId: Number(row?.['id']), count: REQUESTS, hours: 24 * 30 })
    await stage.database.sql`vacuum analyze exchange`
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  test.each([
    { path: '/requests', ready: 'table[role="table"] tbody tr' },
    { path: '/requests?end=upstream_error', ready: 'table[role="table"] tbody tr' },
    { path: '/', ready: '.chart canvas' },
    { path: '/admin/traffic', ready: 'table[role="table"] tbody tr' },
    { path: '/billing', ready: 'table[role="table"] tbody tr' },
  ])(
    '$path is interactive within a second',
    async ({ path, ready }) => {
      const times: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        await owner.page.goto(path, { waitUntil: 'commit' })
        // In the page's own time: from the start of the navigation to when its content is there and painted.
        times.push(
          await owner.page.evaluate<number>(`new Promise(resolve => {
            const look = () => document.querySelector('${ready}') === null
              ? requestAnimationFrame(look)
              : requestAnimationFrame(() => resolve(performance.now()))
            look()
          })`),
        )
      }
      expect(Math.min(...times)).toBeLessThan(1000)
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'what the chart and the log are asked for is in the address, and there after a reload',
    async () => {
      const { page } = owner
      await page.goto('/admin/traffic')
      await page.getByRole('group', { name: 'Range' }).getByText('30 days', { exact: true }).click()
      await page.getByRole('group', { name: 'By', exact: true }).getByText('Channel', { exact: true }).click()
      await page.getByRole('group', { name: 'Show' }).getByText('Requests', { exact: true }).click()
      await page.getByLabel('Time', { exact: true }).selectOption('Last hour')
      await page.reload()
      for (const name of ['30 days', 'Channel', 'Requests']) {
        expect(await page.getByRole('radio', { name, exact: true }).isChecked()).toBe(true)
      }
      expect(await page.getByLabel('Time', { exact: true }).inputValue()).toBe('hour')
      const rows = page.locator('table[role="table"] tbody tr')
      await rows.first().waitFor()
      const oldest = await rows.last().locator('time').getAttribute('datetime')
      expect(Date.now() - Date.parse(oldest ?? '')).toBeLessThan(3_700_000)
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'the list goes on page by page, without a gap and without a repeat',
    async () => {
      const { page } = owner
      await page.goto('/requests?status=5xx')
      const rows = page.locator('table[role="table"] tbody tr')
      await rows.first().waitFor()
      const first = await rows.count()
      await page.getByRole('button', { name: 'Show more' }).click()
      await rows.nth(first).waitFor()
      const times = await rows
        .locator('time')
        .evaluateAll(all => all.map(one => one.getAttribute('datetime') ?? ''))
      expect(times.length).toBe(2 * first)
      expect(times.toSorted().toReversed()).toEqual(times)
      expect(new Set(times).size).toBe(times.length)
    },
    BROWSER_TIMEOUT_MS,
  )
})
