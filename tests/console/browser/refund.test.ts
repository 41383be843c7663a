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

  test(
    'is in its balance and its entries at once, under the receipt that stays open',
    async () => {
      const owner = await site.signUp('owner@example.com', 'owner')
      const answer = await gateway.post('/v1/chat/completions', {
        model: 'messages/echo',
        messages: [{ role: 'user', content: 'in vain' }],
      })
      await answer.text()
      await gateway.server.flush()
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
    },
    BROWSER_TIMEOUT_MS,
  )
})
