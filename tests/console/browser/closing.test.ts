import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { Browser } from 'playwright-core'
import {
  BROWSER_TIMEOUT_MS,
  HAS_BROWSER,
  launchBrowser,
  openVisitor,
  signInBy,
  type Visitor,
} from '#tests/support/browser.ts'
import {
  type Visitor as Account,
  PASSWORD,
  startTestConsole,
  type TestConsole,
} from '#tests/support/gateway/console.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { excessOf, faultsOf } from './faults.ts'
import { inOrder } from './in-order.ts'

/** The end of an account, as its holder and an administrator see it. Each step stands on those before it. */
describe.skipIf(!HAS_BROWSER)('an account is closed', () => {
  let gateway: TestGateway
  let site: TestConsole
  let browser: Browser
  let holder: Visitor
  let owner: Visitor
  let account: Account

  beforeAll(async () => {
    gateway = await startTestGateway()
    site = await startTestConsole(gateway)
    browser = await launchBrowser()
    holder = await openVisitor(browser, site.url, { viewport: { width: 320, height: 640 } })
    owner = await openVisitor(browser, site.url)
    account = await site.signUp('leaving@example.com')
    await site.call(account, 'POST /api/keys', { body: { name: 'laptop' } })
    await signInBy(account, holder.context, site.url)
    await signInBy(await site.signUp('owner@example.com', 'owner'), owner.context, site.url)
  }, BROWSER_TIMEOUT_MS)
  afterAll(async () => {
    await browser?.close()
    await site?.stop()
    await gateway?.close()
  }, BROWSER_TIMEOUT_MS)

  const step = inOrder(BROWSER_TIMEOUT_MS)

  async function assertFine({ page }: Visitor): Promise<void> {
    expect(await faultsOf(page)).toEqual([])
    expect(await excessOf(page, page.viewportSize()?.width ?? 0)).toEqual([])
  }

  step(
    'when its holder asks for it with their password, and thinks better of it, and asks again',
    async () => {
      const { page } = holder
      await page.goto('/settings')
      for (const keeps of [true, false]) {
        await page.getByRole('button', { name: 'Ask for it to be closed' }).click()
        const dialog = page.getByRole('dialog', { name: 'Close the account?' })
        await dialog.getByLabel('Your password').fill('not the password')
        await dialog.getByRole('button', { name: 'Ask for it to be closed' }).click()
        await dialog.getByText('The password is wrong').waitFor()
        await assertFine(holder)
        await dialog.getByLabel('Your password').fill(PASSWORD)
        await page.keyboard.press('Enter')
        await page.getByText('Until an administrator has closed it').waitFor()
        await assertFine(holder)
        if (keeps) await page.getByRole('button', { name: 'Keep it open' }).click()
      }
    },
  )

  step('by an administrator, who finds who asks, says why, and pays out what is left', async () => {
    const { page } = owner
    await page.goto('/admin/accounts?status=asking')
    await page.getByRole('link', { name: account.email }).click()
    const key = page.getByRole('row', { name: /laptop/ })
    await key.getByText('Active').waitFor()
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Close account' }).click()
    await dialog.getByText('Say why').waitFor()
    await dialog.getByLabel('Reason').fill('as asked')
    await assertFine(owner)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Reopen' }).waitFor()
    await key.getByText('Revoked').waitFor()
    await assertFine(owner)
    await page.getByRole('button', { name: 'Pay out' }).click()
    await dialog.getByLabel('Where it went').selectOption('It is kept')
    await dialog.getByLabel('Reason').fill('trial credit')
    await assertFine(owner)
    await page.keyboard.press('Enter')
    await page.getByTestId('balance').getByText('$0.00').waitFor()
    expect(await page.getByRole('button', { name: 'Pay out' }).count()).toBe(0)
  })

  step('which its holder, on a page that is still open, is told by the sign-in', async () => {
    const { page } = holder
    await page.getByRole('button', { name: 'Keep it open' }).click()
    const again = page.getByRole('dialog', { name: 'Sign in again' })
    await again.getByLabel('Password').fill(PASSWORD)
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await again.getByText('The address or the password is wrong').waitFor()
  })

  step('and is opened again', async () => {
    const { page } = owner
    await page.getByRole('button', { name: 'Reopen' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('a mistake')
    await page.getByLabel('Your password').fill('not the password')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('The password is wrong').waitFor()
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Suspend' }).waitFor()
    const again = holder.page.getByRole('dialog', { name: 'Sign in again' })
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await again.waitFor({ state: 'detached' })
    expect([...holder.faults, ...owner.faults]).toEqual([])
  })
})
