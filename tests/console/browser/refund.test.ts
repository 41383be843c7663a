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

describe.skipIf(!HAS_BROWSER)('a refund from the page of an account', () => {
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

  async function askInVain(): Promise<void> {
    const answer = await gateway.post('/v1/chat/completions', {
      model: 'messages/echo',
      messages: [{ role: 'user', content: 'in vain' }],
    })
    await answer.text()
    await gateway.server.flush()
  }

  test(
    'is in its balance and its entries at once, under the receipt that stays open',
    async () => {
      const owner = await site.signUp('owner@example.com', 'owner')
      await askInVain()
      const { context, page, faults } = await openVisitor(browser, site.url)
      await signInBy(owner, context, site.url)
      await page.goto(`/admin/accounts/${gateway.accountId}`)
      const entries = page.getByRole('table', { name: 'Entries', includeHidden: true })
      await page.getByRole('link', { name: 'Receipt' }).click()
      await page.getByTestId('balance').getByText('$999.99').waitFor()
      await page.getByRole('button', { name: 'Refund' }).click()
      const dialog = page.getByRole('dialog', { name: 'Refund this request' })
      await dialog.getByLabel('Reason').fill('it was of no use')
      await dialog.getByRole('button', { name: 'Give refund' }).click()
      await dialog.waitFor({ state: 'detached' })
      await entries.getByText('Request, refunded').waitFor({ state: 'attached' })
      await page.getByTestId('balance').getByText('$1,000.00').waitFor()
      await page.getByRole('dialog', { name: 'Receipt' }).getByText('Request, refunded').waitFor()
      expect(faults).toEqual([])
      await context.close()
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'leaves the entries that were read as far as they were',
    async () => {
      const admin = await site.signUp('admin@example.com', 'admin')
      const params = { id: gateway.accountId }
      await askInVain()
      for (let time = 0; time < 60; time++) {
        const body = { amount: '1', reason: `credit ${time}` }
        await site.call(admin, 'POST /api/admin/accounts/:id/credit', { params, body })
      }
      const { context, page } = await openVisitor(browser, site.url)
      await signInBy(admin, context, site.url)
      await page.goto(`/admin/accounts/${gateway.accountId}`)
      const entries = page.getByRole('table', { name: 'Entries', includeHidden: true })
      await page.getByRole('button', { name: 'Show more' }).click()
      const charged = entries.getByRole('link', { name: 'Receipt' })
      await charged.first().waitFor()
      const read = await entries.getByRole('row', { includeHidden: true }).count()
      await charged.first().click()
      await page.getByRole('button', { name: 'Refund' }).click()
      const dialog = page.getByRole('dialog', { name: 'Refund this request' })
      await dialog.getByLabel('Amount').fill('0.000000001')
      await dialog.getByLabel('Reason').fill('a part of it')
      await dialog.getByRole('button', { name: 'Give refund' }).click()
      await dialog.waitFor({ state: 'detached' })
      await entries.getByText('a part of it').waitFor({ state: 'attached' })
      expect(await entries.getByRole('row', { includeHidden: true }).count()).toBe(read + 1)
      // One whose answer is lost is there for whoever looks.
      await page.route('**/refund', async request => {
        await request.fetch()
        await request.abort()
      })
      await page.getByRole('button', { name: 'Refund' }).click()
      await dialog.getByLabel('Amount').fill('0.000000002')
      await dialog.getByLabel('Reason').fill('another part')
      await dialog.getByRole('button', { name: 'Give refund' }).click()
      await dialog.getByText('look whether it was done').waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await entries.getByText('another part').waitFor({ state: 'attached' })
      await context.close()
    },
    BROWSER_TIMEOUT_MS,
  )
})
