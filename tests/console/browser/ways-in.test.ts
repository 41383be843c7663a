import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { faultsOf } from './faults.ts'
import { inOrder } from './in-order.ts'
import { becomeOwner, OWNER, openStage, type Stage } from './stage.ts'

const NEW_PASSWORD = 'a password that is chosen anew'

/** Every way to sign in, and back in for those who have lost theirs. Each step stands on those before it. */
describe.skipIf(!HAS_BROWSER)('the ways in', () => {
  let stage: Stage
  let owner: Visitor
  let ada: Visitor
  let secret = ''
  let recovery: string[] = []

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    ada = await stage.visitor()
    await becomeOwner(owner, stage)
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  const step = inOrder(BROWSER_TIMEOUT_MS)
  /** As the app shows it in the half minute that far from now: each is taken once, and only after the last one. */
  const codeAt = (halfMinutes: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + halfMinutes * 30_000 })

  step('an administrator is invited, and signs in once the link can be looked at', async () => {
    await owner.page.goto('/admin/users')
    await owner.page.getByRole('button', { name: 'Invite administrator' }).click()
    await owner.page.getByLabel('Email').fill('ada@example.com')
    let looked = 0
    await owner.page.route('**/api/links/inspect', route => {
      looked += 1
      return route.continue()
    })
    await confirm(owner.page, 'Make the link')
    // Until when it works is told as it is made: looks at links are counted, and whoever is invited needs them.
    await owner.page.getByText('It works once, until').waitFor()
    expect(looked).toBe(0)
    await ada.page.route('**/api/links/inspect', route => route.abort())
    await ada.page.goto((await owner.page.getByTestId('link').textContent()) ?? '')
    await ada.page.getByText('cannot be reached').waitFor()
    // Nobody knows yet, and there is a way on.
    expect(await ada.page.getByText('This link does not work').count()).toBe(0)
    await ada.page.unroute('**/api/links/inspect')
    await ada.page.getByRole('button', { name: 'Try again' }).click()
    await ada.page.getByLabel('Password').fill(OWNER.password)
    await ada.page.getByRole('button', { name: 'Accept the invitation' }).click()
    await ada.page.getByRole('navigation', { name: 'Administration' }).waitFor()
    await owner.page.getByRole('button', { name: 'Done' }).click()
  })

  step('an invitation that nobody has used is in a list, and is taken back', async () => {
    const { page } = owner
    const links = page.getByRole('region', { name: 'Open links' })
    await links.getByText('Every invitation').waitFor()
    await page.getByRole('button', { name: 'Invite administrator' }).click()
    await page.getByLabel('Email').fill('wrong@example.com')
    await confirm(page, 'Make the link')
    await page.getByRole('button', { name: 'Done' }).click()
    await links.getByRole('button', { name: 'Take back the link for wrong@example.com' }).click()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click()
    await page.getByText('The link works no more').waitFor()
    await links.getByText('Every invitation').waitFor()
  })

  step('the second factor is on after a first code, and not after a wrong one', async () => {
    const { page } = ada
    await page.goto('/settings')
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByLabel('Your password').fill(OWNER.password)
    await page.getByRole('button', { name: 'Continue' }).click()
    const dialog = page.getByRole('dialog', { name: 'Turn on the second factor' })
    secret = (await dialog.locator('pre').textContent())?.trim() ?? ''
    const code = dialog.getByRole('textbox', { name: 'Code' })
    await focusIsIn(page, 'dialog input[name="code"]')
    await code.fill('000000')
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await dialog.getByText('This code is wrong').waitFor()
    expect(await code.getAttribute('aria-invalid')).toBe('true')
    await code.fill(codeAt(0))
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    const codes = page.getByRole('dialog', { name: 'Recovery codes' })
    recovery = ((await codes.locator('pre').textContent()) ?? '').split('\n')
    expect(recovery).toHaveLength(10)
    await focusIsIn(page, 'dialog .button')
    await codes.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByRole('button', { name: 'Turn off' }).waitFor()
  })

  step('signing in asks for the code after the password', async () => {
    await signOut(ada.page)
    await signIn(ada.page, OWNER.password)
    await focusIsIn(ada.page, 'input[name="code"]')
    await ada.page.getByLabel('Code').fill(codeAt(1))
    await ada.page.getByRole('button', { name: 'Sign in' }).click()
    await ada.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await focusIsIn(ada.page, 'h1')
  })

  step('a session that has ended asks for the code as well, over the page', async () => {
    await ada.page.goto('/keys?new=yes')
    await ada.page.getByLabel('Name', { exact: true }).fill('kept')
    await ada.context.clearCookies()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const again = ada.page.getByRole('dialog', { name: 'Sign in again' })
    await again.getByLabel('Password').fill(OWNER.password)
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await focusIsIn(ada.page, 'dialog input[name="code"]')
    await again.getByLabel('Code').fill(recovery[0] ?? '')
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await focusIsIn(ada.page, 'dialog .button')
    await ada.page.getByRole('button', { name: 'I have copied it' }).click()
    await ada.page.getByRole('cell').getByText('kept').first().waitFor()
  })

  step('a recovery code takes the place of a lost device, once', async () => {
    const { page } = ada
    await signOut(page)
    await signIn(page, OWNER.password)
    await page.getByLabel('Code').fill(recovery[0] ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('wrong or was used already').waitFor()
    await page.getByLabel('Code').fill(recovery[1]?.toLowerCase() ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await signOut(page)
  })

  step(
    'who has forgotten the password asks for a link, and an administrator who is asked makes it',
    async () => {
      const waiting = () => stage.database.sql`select from console_user where reset_requested_at is not null`
      await ada.page.getByRole('link', { name: 'Forgotten your password?' }).click()
      await focusIsIn(ada.page, 'input[name="email"]')
      await ada.page.getByLabel('Email').fill('ada@example.com')
      await ada.page.getByRole('button', { name: 'Ask for a link' }).click()
      await ada.page.getByText('your administrator now sees').waitFor()
      // Written after the answer, so that how long that takes tells nothing.
      await until(async () => (await waiting()).length > 0)
      await owner.page.reload()
      await owner.page.getByRole('row', { name: /ada@example.com.*Waits for a link/ }).waitFor()
      // Whoever administers many finds them by that, and the link stays when its user is in that list no more.
      await owner.page.getByLabel('Status').selectOption('Waits for a link')
      await owner.page.getByRole('row', { name: /owner@example.com/ }).waitFor({ state: 'detached' })
      await manage(owner.page)
      await owner.page.getByRole('button', { name: 'Make a link to a new password' }).click()
      await confirm(owner.page, 'Make the link')
      await owner.page.getByText('Nobody matches').waitFor()
      const link = (await owner.page.getByTestId('link').textContent()) ?? ''
      // Whoever hands it over is told that it works for an hour.
      const end = await owner.page.getByRole('dialog').locator('time').getAttribute('datetime')
      expect(Math.round((Date.parse(end ?? '') - Date.now()) / 600_000)).toBe(6)
      await owner.page.getByRole('button', { name: 'Done' }).click()
      await owner.page.getByLabel('Status').selectOption('Any')

      await ada.page.goto(link)
      await ada.page.getByLabel('Password').fill(NEW_PASSWORD)
      await ada.page.getByRole('button', { name: 'Set the password' }).click()
      // A link proves a mailbox, which is no second factor.
      await ada.page.getByLabel('Code').fill(recovery[2] ?? '')
      await ada.page.getByRole('button', { name: 'Set the password' }).click()
      await ada.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    },
  )

  step('who has lost everything is let in by an owner, who takes the second factor away', async () => {
    await signOut(ada.page)
    // From an account there is a way to who signs in for it.
    await owner.page
      .getByRole('row', { name: /ada@example.com/ })
      .getByRole('link')
      .click()
    await owner.page.getByRole('link', { name: /^user \d+$/ }).click()
    await manage(owner.page)
    await owner.page.getByRole('button', { name: 'Take away the second factor' }).click()
    await confirm(owner.page, 'Take away')
    await owner.page.getByRole('dialog').waitFor({ state: 'detached' })
    await signIn(ada.page, NEW_PASSWORD)
    await ada.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  })

  step('who was disabled is at the sign-in with the next thing they do, and stays there', async () => {
    await manage(owner.page)
    await owner.page.getByRole('button', { name: 'Disable' }).click()
    await owner.page.getByRole('button', { name: 'Disable user' }).click()
    await owner.page.getByRole('dialog').waitFor({ state: 'detached' })
    await ada.page.goto('/keys')
    await ada.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await signIn(ada.page, NEW_PASSWORD)
    await ada.page.getByRole('alert').getByText('The address or the password is wrong').waitFor()
  })

  step('who was enabled again signs in, and with another role administers no more', async () => {
    const { page } = owner
    await manage(page)
    await page.getByRole('button', { name: 'Enable' }).click()
    await confirm(page, 'Enable user')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await signIn(ada.page, NEW_PASSWORD)
    await ada.page.getByRole('navigation', { name: 'Administration' }).waitFor()
    await manage(page)
    await page.getByRole('button', { name: 'Change the role' }).click()
    await page.getByRole('dialog').getByLabel('Role').selectOption('Account holder')
    await confirm(page, 'Change role')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await ada.page.goto('/')
    await signIn(ada.page, NEW_PASSWORD)
    await ada.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    expect(await ada.page.getByRole('navigation', { name: 'Administration' }).count()).toBe(0)
  })

  step('nothing went wrong in any page', async () => {
    expect(owner.faults).toEqual([])
    expect(ada.faults).toEqual([])
  })
})

/** It is nowhere when what had it is gone; then a keyboard begins anew, and nothing is said. */
async function focusIsIn(page: Page, what: string): Promise<void> {
  await page.locator(`:is(${what}):focus`).waitFor()
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
}

async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Gives the own password in the dialog that is open, and does what it asks about. */
async function confirm(page: Page, verb: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your password').fill(OWNER.password)
  await dialog.getByRole('button', { name: verb, exact: true }).click()
}

async function manage(page: Page): Promise<void> {
  await page
    .getByRole('row', { name: /ada@example.com/ })
    .getByRole('button', { name: /Manage/ })
    .click()
  await page.getByRole('dialog', { name: 'ada@example.com' }).waitFor()
}
