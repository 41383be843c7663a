import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import {
  BROWSER_TIMEOUT_MS,
  HAS_BROWSER,
  launchBrowser,
  openVisitor,
  signInBy,
} from '#tests/support/browser.ts'
import { startTestConsole, type TestConsole } from '#tests/support/gateway/console.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { firstIdAt } from '@/console/requests/request-log.ts'
import { excessOf, faultsOf } from './faults.ts'

describe.skipIf(!HAS_BROWSER)('usage and requests between two dates', () => {
  let gateway: TestGateway
  let site: TestConsole
  let browser: Browser

  beforeAll(async () => {
    gateway = await startTestGateway()
    site = await startTestConsole(gateway)
    browser = await launchBrowser()
  }, BROWSER_TIMEOUT_MS)
  afterAll(async () => {
    await browser?.close()
    await site?.stop()
    await gateway?.close()
  }, BROWSER_TIMEOUT_MS)

  test(
    "counts the days of the reader's zone, is kept by the address, and is what the file has",
    async () => {
      const holder = await site.signUp('ada@example.com')
      const { key } = await site.call(holder, 'POST /api/keys', { body: { name: 'k' } })
      // The last minute before 10 October in India, the first one of it and the last one.
      for (const at of ['2026-10-09T18:29:00Z', '2026-10-09T18:31:00Z', '2026-10-10T18:29:00Z']) {
        const id = `${firstIdAt(new Date(at)).slice(0, 13)}-7000-8000-000000000001`
        await gateway.database
          .sql`insert into exchange (id, account_id, key_id, model, surface, streamed, usage_source,
            cost_nano, status, end_state, started_at, total_ms, attempts)
          values (${id}, ${holder.accountId}, ${key.id}, 'm', 'chat', true, 'reported', 1000, 200, 'complete',
            ${at}::text::timestamptz, 1, 1)`
      }
      const { context, page, faults } = await openVisitor(browser, site.url, {
        timezoneId: 'Asia/Kolkata',
        viewport: { width: 320, height: 700 },
      })
      await signInBy(holder, context, site.url)
      await page.goto('/')
      await page.getByText('Dates', { exact: true }).click()
      await page.getByLabel('First day').fill('2026-10-10')
      await page.getByLabel('Last day').fill('2026-10-09')
      await page.getByText('none after the last').waitFor()
      await page.getByLabel('Last day').fill('2026-10-10')
      const requests = page.getByRole('definition').filter({ hasText: /^2$/ })
      await requests.first().waitFor()
      await page.getByText('Hours of Asia/Calcutta').waitFor()
      expect(await faultsOf(page)).toEqual([])
      expect(await excessOf(page, 320)).toEqual([])
      await page.reload()
      await requests.first().waitFor()
      expect(await page.getByLabel('First day').inputValue()).toBe('2026-10-10')
      const file = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')
      const lines = (await (await page.request.get(file ?? '')).text()).trimEnd().split('\r\n')
      expect(lines[0]).toBe(
        '\ufefffrom,id,name,requests,failed,input tokens,cached tokens,output tokens,spend,currency',
      )
      expect(lines.slice(1).map(line => line.split(',')[3])).toEqual(['1', '1'])
      expect(lines[1]).toStartWith('2026-10-10T00:00:00+05:30,')
      expect(lines.at(-1)).toEndWith('0.000001000,USD')
      await page.getByText('7 days', { exact: true }).click()
      await page.waitForURL(({ search }) => search === '')
      await page.goto('/requests')
      await page.getByLabel('Time').selectOption('Dates')
      await page.getByLabel('First day').fill('2026-10-10')
      await page.getByLabel('Last day').fill('2026-10-09')
      // Days that are none are no condition: its file would have every request.
      await page.getByText('none after the last').waitFor()
      expect(await page.getByRole('link', { name: 'Download CSV' }).count()).toBe(0)
      await page.getByLabel('Last day').fill('2026-10-10')
      await page.getByRole('row').nth(3).waitFor({ state: 'detached' })
      await page.getByRole('row').nth(2).waitFor()
      await page.getByLabel('End', { exact: true }).selectOption('Not complete')
      await page.getByText('No request matches', { exact: true }).waitFor()
      expect(await excessOf(page, 320)).toEqual([])
      expect(faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'shows how many did not complete, and leads to those alone',
    async () => {
      const holder = await site.signUp('grace@example.com')
      const { key } = await site.call(holder, 'POST /api/keys', { body: { name: 'k' } })
      for (const [index, end] of ['complete', 'upstream_error', 'complete'].entries()) {
        const at = `2026-10-10T10:00:0${index}Z`
        const id = `${firstIdAt(new Date(at)).slice(0, 13)}-7000-8000-000000000002`
        await gateway.database
          .sql`insert into exchange (id, account_id, key_id, model, surface, streamed, usage_source,
            status, end_state, started_at, total_ms, attempts)
          values (${id}, ${holder.accountId}, ${key.id}, 'm', 'chat', true, 'reported', 200, ${end},
            ${at}::text::timestamptz, 1, 1)`
      }
      const timezoneId = 'America/New_York'
      const { context, page, faults } = await openVisitor(browser, site.url, { timezoneId })
      await signInBy(holder, context, site.url)
      await page.goto('/?range=days&from=2026-10-10&to=2026-10-10&show=requests')
      await page.getByText('Hours of America/New York', { exact: true }).waitFor()
      const series = page.getByRole('list', { name: 'Series' }).getByRole('listitem')
      await series.getByText('3', { exact: true }).waitFor()
      await page.getByText('Not complete', { exact: true }).click()
      await series.getByText('1', { exact: true }).waitFor()
      await series.getByRole('link', { name: 'm' }).click()
      await page.waitForURL(({ pathname }) => pathname === '/requests')
      await page.getByRole('cell', { name: 'Upstream error' }).waitFor()
      expect(await page.getByRole('row').count()).toBe(2)
      expect(faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'asks for nothing while the days are none, and for what is between them once they are days',
    async () => {
      const owner = await site.signUp('owner@example.com', 'owner')
      const { context, page, faults } = await openVisitor(browser, site.url)
      await signInBy(owner, context, site.url)
      const asked: string[] = []
      page.on('request', request => asked.push(new URL(request.url()).pathname))
      const [none, days] = ['first=2026-10-10&last=2026-10-09', '2026-10-10']
      for (const [path, question] of [
        ['/?range=days&from=2026-10-10&to=2026-10-09', '/api/usage'],
        [`/requests?since=days&${none}`, '/api/requests'],
        [`/billing?since=days&${none}`, '/api/billing/entries'],
        [`/admin/log?since=days&${none}`, '/api/admin/log'],
      ] as const) {
        asked.length = 0
        await page.goto(path)
        await page.getByText('none after the last').waitFor()
        await page.waitForLoadState('networkidle')
        expect({ path, asked: asked.filter(one => one === question) }).toEqual({ path, asked: [] })
        const answered = page.waitForResponse(response => new URL(response.url()).pathname === question)
        await page.getByLabel('Last day').fill(days)
        expect(new URL((await answered).url()).searchParams.get('from')).toStartWith('2026-10-')
        expect({ path, asked: asked.filter(one => one === question) }).toEqual({ path, asked: [question] })
      }
      await page.goto('/?range=days&from=2026-10-01&to=2026-10-10')
      await page.waitForLoadState('networkidle')
      asked.length = 0
      // Each digit of a year makes a day of it: in 2, 20, 202 and 2026.
      const last = /\/api\/usage\?.*from=2026-10-0[12]T/
      const answered = page.waitForResponse(response => last.test(response.url()))
      await page.getByLabel('First day').pressSequentially('10022026', { delay: 30 })
      await answered
      expect(asked.filter(one => one === '/api/usage')).toHaveLength(1)
      expect(faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test.each([5, -50])(
    'reckons by the clock of the server where that of the browser is %i hours ahead',
    async hours => {
      const holder = await site.signUp(`clock-${hours}@example.com`)
      const { key } = await site.call(holder, 'POST /api/keys', { body: { name: 'k' } })
      await gateway.database.sql`insert into exchange (id, account_id, key_id, model, surface, streamed,
          usage_source, status, end_state, started_at, total_ms, attempts)
        values (${Bun.randomUUIDv7()}, ${holder.accountId}, ${key.id}, 'm', 'chat', true, 'reported', 200,
          'complete', now(), 1, 1)`
      const { context, page, faults } = await openVisitor(browser, site.url)
      await signInBy(holder, context, site.url)
      await page.clock.setSystemTime(Date.now() + hours * 3_600_000)
      await page.goto('/requests?since=hour')
      await page.getByRole('row').nth(1).waitFor()
      await page.getByLabel('Time').selectOption('Dates')
      await page.waitForLoadState('networkidle')
      expect(await page.getByRole('row').count()).toBe(2)
      await page.goto('/?range=day')
      await page.getByRole('definition').filter({ hasText: /^1$/ }).first().waitFor()
      await page.goto('/settings')
      await page.getByText('just now').first().waitFor()
      expect(faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )
})
