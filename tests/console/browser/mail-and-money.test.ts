import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import Stripe from 'stripe'
import {
  BROWSER_TIMEOUT_MS,
  HAS_BROWSER,
  launchBrowser,
  openVisitor,
  type Visitor,
} from '#tests/support/browser.ts'
import { startTestConsole, type TestConsole } from '#tests/support/gateway/console.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { type ScriptedUpstream, scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'
import { faultsOf } from './faults.ts'
import { inOrder } from './in-order.ts'

const EMAIL = 'grace@example.com'
const PASSWORDS = ['the first of the passwords', 'the second of the passwords'] as const
const WEBHOOK_SECRET = 'whsec_test'

/** What goes by mail and by card, with a mail server and a Stripe that do as they are told. Each step stands on those before it. */
describe.skipIf(!HAS_BROWSER)('by mail and by card', () => {
  let gateway: TestGateway
  let site: TestConsole
  let stripe: ScriptedUpstream
  let browser: Browser
  let grace: Visitor
  /** Another browser of hers. */
  let phone: Visitor
  /** What the gateway asked of Stripe for the last payment. */
  let asked = new URLSearchParams()

  beforeAll(async () => {
    gateway = await startTestGateway()
    await gateway.apply(`limits: { account: { requests_per_minute: 600 } }
console:
  signup: true
  smtp: { host: localhost, from: "t@example.com" }
  stripe: { secret_key: sk_test_1, webhook_secret: ${WEBHOOK_SECRET} }`)
    stripe = scriptedUpstream(({ method, body }) => {
      if (method === 'GET') return new Response('Pay here')
      asked = new URLSearchParams(new TextDecoder().decode(body))
      return Response.json({ id: 'cs_1', object: 'checkout.session', url: `${stripe.url}/pay` })
    })
    const { hostname, port } = new URL(stripe.url)
    site = await startTestConsole(gateway, {
      stripe: async key =>
        new Stripe(key, { host: hostname, port: Number(port), protocol: 'http', telemetry: false }),
    })
    browser = await launchBrowser()
    grace = await openVisitor(browser, site.url)
    phone = await openVisitor(browser, site.url)
  }, BROWSER_TIMEOUT_MS)
  afterAll(async () => {
    await browser?.close()
    await site?.stop()
    await stripe?.stop()
    await gateway?.close()
  }, BROWSER_TIMEOUT_MS)

  const step = inOrder(BROWSER_TIMEOUT_MS)

  step('a stranger signs up by mail, and the link lets them choose a password', async () => {
    const { page } = grace
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.getByLabel('Email').fill(` ${EMAIL.toUpperCase()} `)
    expect(await page.getByLabel('Password').count()).toBe(0)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Look at your mail', exact: true }).waitFor()
    await page.goto(await mailedLink(site, 1))
    await page.getByRole('heading', { name: 'Almost there', exact: true }).waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe(EMAIL)
    await page.getByLabel('Password').fill('short')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.locator('[aria-invalid="true"]').waitFor()
    await page.getByLabel('Password').fill(PASSWORDS[0])
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await page.getByText('$1.00').first().waitFor()
    // Whose limit it is, whoever does not see the page hears as well.
    await page.getByRole('meter', { name: 'Requests in the last minute, Account' }).waitFor()
    // The token is in no entry of the history that the back button leads to.
    expect(page.url()).toBe(`${site.url}/`)
  })

  step('the link of the sign-up works no more', async () => {
    await phone.page.goto(await mailedLink(site, 1))
    await phone.page.getByRole('heading', { name: 'This link does not work', exact: true }).waitFor()
  })

  step('credit is bought by card: the browser goes to pay, comes back, and the credit is there', async () => {
    const { page } = grace
    await page.goto('/billing')
    await page.getByLabel('Amount in USD').fill('0.001')
    await page.getByRole('button', { name: 'Go to payment' }).click()
    await page.getByText('cannot be paid in USD').waitFor()
    await page.getByLabel('Amount in USD').fill('12.34')
    await page.getByRole('button', { name: 'Go to payment' }).click()
    await page.getByText('Pay here').waitFor()
    expect(asked.get('line_items[0][price_data][unit_amount]')).toBe('1234')
    await page.goto(asked.get('success_url') ?? '')
    await page.getByText('appears here as soon as the payment is confirmed').waitFor()
    await page.getByTestId('balance').getByText('$1.00').waitFor()
    await pay(site, asked)
    // Nobody has to reload for it.
    await page.getByTestId('balance').getByText('$13.34').waitFor()
    await page.getByRole('row', { name: /Top-up.*\+\$12\.34/ }).waitFor()
  })

  step('a payment that is called off costs nothing, and is said to', async () => {
    const { page } = grace
    await page.getByLabel('Amount in USD').fill('5')
    await page.getByRole('button', { name: 'Go to payment' }).click()
    await page.getByText('Pay here').waitFor()
    await page.goto(asked.get('cancel_url') ?? '')
    await page.getByText('nothing was charged').waitFor()
    await page.getByTestId('balance').getByText('$13.34').waitFor()
  })

  step('who comes back from paying with the back button can pay again', async () => {
    const { page } = grace
    await page.getByRole('button', { name: 'Go to payment' }).click()
    await page.getByText('Pay here').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Go to payment' }).click()
    await page.getByText('Pay here').waitFor()
    await page.goto('/billing')
  })

  step('a mail before credit runs low is asked for, changed and called off', async () => {
    const { page } = grace
    const below = page.getByLabel('Balance in USD')
    const save = page.getByRole('button', { name: 'Save', exact: true })
    await below.fill('nothing')
    await save.click()
    await page.getByText('An amount such as 5.00').waitFor()
    await below.fill('2.5')
    await save.click()
    await page.getByText('You get a mail when the balance falls below $2.50').waitFor()
    await page.reload()
    await until(async () => (await below.inputValue()) === '2.50')
    await below.fill(' ')
    await save.click()
    await page.getByText('There is no mail any more').waitFor()
    await page.reload()
    await below.waitFor()
    expect(await below.inputValue()).toBe('')
  })

  step('what is paid by card and what is mailed has no fault that axe can find, in both themes', async () => {
    const { page } = grace
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await faultsOf(page)).toEqual([])
    }
    await page.emulateMedia({ colorScheme: null })
  })

  step('a forgotten password is replaced by mail, which ends every other session', async () => {
    const { page } = phone
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'Forgotten your password?' }).click()
    await page.getByLabel('Email').fill('nobody@example.com')
    await page.getByRole('button', { name: 'Ask for a link' }).click()
    await page.getByText('If there is an account for nobody@example.com').waitFor()
    await page.getByRole('link', { name: 'Back to sign in' }).click()
    await page.getByRole('link', { name: 'Forgotten your password?' }).click()
    await page.getByLabel('Email').fill(EMAIL)
    await page.getByRole('button', { name: 'Ask for a link' }).click()
    await page.getByText(`If there is an account for ${EMAIL}`).waitFor()
    await page.goto(await mailedLink(site, 2))
    await page.getByRole('heading', { name: 'New password', exact: true }).waitFor()
    await page.getByLabel('Password').fill(PASSWORDS[1])
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    // What the other browser does next asks for the new password, over the page.
    await grace.page.getByRole('link', { name: 'Settings', exact: true }).click()
    const again = grace.page.getByRole('dialog', { name: 'Sign in again' })
    await again.getByLabel('Password').fill(PASSWORDS[0])
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await again.getByText('The address or the password is wrong').waitFor()
    await again.getByLabel('Password').fill(PASSWORDS[1])
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await again.waitFor({ state: 'detached' })
    await until(async () => (await sessionsOn(grace.page)) === 2)
  })

  step('one other session is signed out from here, and this one stays', async () => {
    await grace.page.getByRole('button', { name: /^Sign out Chrome/ }).click()
    await grace.page.getByText('That session is signed out').waitFor()
    await until(async () => (await sessionsOn(grace.page)) === 1)
    await phone.page.reload()
    await phone.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await phone.page.getByLabel('Email').fill(EMAIL)
    await phone.page.getByLabel('Password').fill(PASSWORDS[1])
    await phone.page.getByRole('button', { name: 'Sign in' }).click()
    await phone.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  })

  step(
    'signing out everywhere ends all of them, and the back button shows nothing of what was there',
    async () => {
      const { page } = grace
      await page.getByRole('button', { name: 'Sign out everywhere' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click()
      await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
      await page.goBack()
      await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
      expect(await page.getByText(EMAIL).count()).toBe(0)
      await phone.page.reload()
      await phone.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    },
  )

  step('nothing went wrong in any page', async () => {
    const notOfStripe = grace.faults.filter(fault => !fault.startsWith(`third party: ${stripe.url}`))
    expect([...notOfStripe, ...phone.faults]).toEqual([])
  })
})

/** What stands in the last of so many mails. */
async function mailedLink(site: TestConsole, count: number): Promise<string> {
  await until(() => site.mails.length === count)
  const mail = site.mails.at(-1)
  expect(mail?.to).toBe(EMAIL)
  return /\S+\/link#\S+/.exec(mail?.text ?? '')?.[0] ?? ''
}

/** Stripe tells that it was paid. */
async function pay(site: TestConsole, asked: URLSearchParams): Promise<void> {
  const session = {
    id: 'cs_1',
    object: 'checkout.session',
    payment_status: 'paid',
    amount_total: Number(asked.get('line_items[0][price_data][unit_amount]')),
    currency: asked.get('line_items[0][price_data][currency]'),
    payment_intent: 'pi_1',
    metadata: { tollgate_account: asked.get('metadata[tollgate_account]') },
  }
  const type = 'checkout.session.completed'
  const payload = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object: session } })
  const signature = await new Stripe('sk_test_1').webhooks.generateTestHeaderStringAsync({
    payload,
    secret: WEBHOOK_SECRET,
  })
  const response = await fetch(`${site.url}/api/stripe/webhook`, {
    method: 'POST',
    body: payload,
    headers: { 'content-type': 'application/json', 'stripe-signature': signature },
  })
  expect(response.status).toBe(200)
}

function sessionsOn(page: Page): Promise<number> {
  return page.getByRole('table', { name: 'Sessions' }).getByRole('row').filter({ hasText: 'Chrome' }).count()
}
