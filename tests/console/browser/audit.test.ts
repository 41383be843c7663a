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
import { excessOf, faultsOf } from './faults.ts'

describe.skipIf(!HAS_BROWSER)('books that do not agree', () => {
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
    'are told with what is broken in front, also after an audit of what is new that finds nothing',
    async () => {
      const owner = await site.signUp('owner@example.com', 'owner')
      const holder = await site.signUp('ada@example.com')
      await site.call(owner, 'POST /api/admin/redeem-codes', { body: { amount: '5', count: 1 } })
      await site.call(owner, 'POST /api/admin/accounts/:id/credit', {
        params: { id: holder.accountId },
        body: { amount: '5', reason: 'paid by bank' },
      })
      const { context, page, faults } = await openVisitor(browser, site.url, {
        viewport: { width: 390, height: 844 },
        colorScheme: 'dark',
      })
      await signInBy(owner, context, site.url)
      const audits = page.getByRole('table', { name: 'Audits' }).getByRole('row')
      const first = page.getByRole('table', { name: 'Checks' }).getByRole('row').nth(1)
      await page.goto('/admin/audit')
      await page.getByText('No audit yet').waitFor()
      await page.getByRole('button', { name: 'Audit everything' }).click()
      await page.getByText('The last audit found nothing wrong').waitFor()

      await gateway.database.sql`update redeem_code set uses = uses + 1`
      await page.getByRole('button', { name: 'Audit everything' }).click()
      await page.getByText('The last audit found something wrong').waitFor()
      await page.getByRole('button', { name: 'Audit now' }).click()
      await page.getByText('The last audit of everything found something wrong').waitFor()
      expect(await audits.nth(1).textContent()).toMatch(/Agrees.*Since the last good one/)
      expect(await first.textContent()).toMatch(/Redeem codes count their uses.*Broken/)
      // For that nobody is suspended.
      expect(await page.getByRole('link', { name: 'which ones were' }).count()).toBe(0)

      await gateway.database.sql.begin(async tx => {
        await tx`set local session_replication_role = replica`
        await tx`update entry set amount = amount + 250000000 where account_id = ${holder.accountId}`
      })
      await page.getByRole('button', { name: 'Audit everything' }).click()
      await page.getByText('The last audit found something wrong').waitFor()
      expect(await first.textContent()).toMatch(/wallet says was put in.*Broken/)
      // What is found is told apart, each with words of its own that have commas.
      const terms = page.getByRole('row').filter({ hasText: 'Every amount that was put in has its terms' })
      expect(await terms.getByRole('listitem').count()).toBe(2)
      expect(await faultsOf(page)).toEqual([])
      expect(await excessOf(page, 390)).toEqual([])

      await page.getByRole('link', { name: 'which ones were' }).click()
      await page
        .getByRole('row')
        .filter({ hasText: `account ${holder.accountId}` })
        .waitFor()
      await page.goBack()
      await page.getByText('The last audit found something wrong').waitFor()
      expect(faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )
})
