import { afterAll, beforeAll, describe, expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { inOrder } from './in-order.ts'
import { addressOf, OWNER, openStage, type Stage } from './stage.ts'

/** The main tasks with nothing but a keyboard: no step here points at anything. */
describe.skipIf(!HAS_BROWSER)('by keyboard alone', () => {
  let stage: Stage
  let owner: Visitor

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  const inThisOrder = inOrder(BROWSER_TIMEOUT_MS)
  const step = (name: string, run: (page: Page) => Promise<void>) => inThisOrder(name, () => run(owner.page))

  step('one becomes the owner', async page => {
    await page.goto(stage.firstLink)
    await page.getByLabel('Email').waitFor()
    await type(page, 'Email', OWNER.email)
    await type(page, 'Password', OWNER.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  })

  step('the first stop of every page skips the navigation', async page => {
    await page.goto('/keys')
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await focused(page)).toContain('Create key')
  })

  step('what is wrong in a folded part of a form is unfolded, and gets the focus', async page => {
    const fold = 'Order, timeouts and more'
    await go(page, 'Channels')
    await press(page, 'Add channel')
    await page.getByRole('dialog', { name: 'Add a channel' }).waitFor()
    await type(page, 'Your key there', 'a-key-of-the-vendor-1234')
    await tabTo(page, fold)
    await page.keyboard.press('Enter')
    await type(page, 'Priority', 'first')
    await tabTo(page, fold)
    await page.keyboard.press('Enter')
    await tabTo(page, 'Name')
    await page.keyboard.press('Enter')
    await focusComesTo(page, 'Priority')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  step('one adds a channel', async page => {
    await go(page, 'Channels')
    await press(page, 'Add channel')
    await page.getByRole('dialog', { name: 'Add a channel' }).waitFor()
    await choose(page, 'Another')
    await type(page, 'Your key there', 'a-key-of-the-vendor-1234')
    await type(page, 'Name', 'simulator')
    await type(page, 'Address', addressOf(stage.simulator))
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'simulator is added' }).waitFor()
  })

  step('Escape closes a dialog and gives the focus back', async page => {
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await go(page, 'Models and prices')
    await press(page, 'Add by hand')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await focusComesTo(page, 'Add by hand')
  })

  step('one adds a model', async page => {
    await press(page, 'Add by hand')
    await page.getByRole('dialog').waitFor()
    await type(page, 'Id', 'echo')
    await type(page, 'Input', '1')
    await type(page, 'Output', '2')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'echo', exact: true }).waitFor()
  })

  step('one comes back from a page to the link that led there', async page => {
    await tabTo(page, 'echo')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'echo', exact: true }).waitFor()
    await focusComesTo(page, 'echo')
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Models and prices', exact: true }).waitFor()
    await focusComesTo(page, 'echo')
  })

  step('a dialog keeps the focus to itself', async page => {
    await go(page, 'Keys')
    await press(page, 'Create key')
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor()
    for (let stop = 0; stop < 12; stop++) {
      await page.keyboard.press('Tab')
      const isInside = await page.evaluate<boolean>(
        "document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)",
      )
      expect(isInside).toBe(true)
    }
  })

  step('one creates a key and reads its snippets', async page => {
    await type(page, 'Name', 'laptop')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor()
    await tabTo(page, 'curl')
    await page.keyboard.press('ArrowRight')
    await focusComesTo(page, 'OpenAI SDK')
    await page.getByText('from openai import OpenAI').waitFor()
    await press(page, 'I have copied it')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  step('one asks a model, and reads the receipt', async page => {
    await go(page, 'Playground')
    await tabTo(page, 'Message')
    await page.keyboard.press('Control+Enter')
    await page.getByTestId('answer').getByText('Say hello in five languages.').waitFor()
    await stage.stored({ status: 200 })
    await go(page, 'Requests')
    await press(page, 'echo receipt')
    await page.getByRole('dialog', { name: 'Receipt' }).getByText('Complete').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  step('an answer that does not come is stopped, and asked for again', async page => {
    await go(page, 'Playground')
    await page.route('**/api/playground', () => undefined)
    await tabTo(page, 'Message')
    await page.keyboard.press('Control+Enter')
    await press(page, 'Stop')
    await focusComesTo(page, 'Send')
    await page.unroute('**/api/playground')
  })

  step('one revokes the key', async page => {
    await go(page, 'Keys')
    await press(page, 'Revoke laptop')
    await press(page, 'Revoke key')
    await page.getByRole('cell').getByText('Revoked').waitFor()
  })

  step('and goes on at its row, now that the button is gone', async page => {
    await page.waitForFunction(
      "document.activeElement.matches('tr') && document.activeElement.textContent.startsWith('laptop')",
    )
  })

  step('a dialog that an address opened gives the focus to the heading of its page', async page => {
    await page.goto('/keys?new=yes')
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await focusComesTo(page, 'Keys')
  })
})

/** The words of whatever has the focus: its label, or its text. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>(
    `(() => {
      const element = document.activeElement
      const words = element.labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent ?? ''
      return words.replace(/\\s+/g, ' ').replace(/ optional$/, '').trim()
    })()`,
  )
}

/** The browser moves it a moment after what it follows from. */
async function focusComesTo(page: Page, name: string): Promise<void> {
  const deadline = performance.now() + STOPS_MS
  for (;;) {
    const words = await focused(page)
    if (words === name) return
    if (performance.now() > deadline)
      throw new Error(`the focus is on "${words.slice(0, 80)}", not on "${name}"`)
    await Bun.sleep(20)
  }
}

/** More stops than any page has, and time for what is to be pressed to come. */
const STOPS = 150
const STOPS_MS = 20_000

async function tabTo(page: Page, name: string): Promise<void> {
  const seen: string[] = []
  const deadline = performance.now() + STOPS_MS
  while (seen.length < STOPS || performance.now() < deadline) {
    const words = await focused(page)
    if (words === name) return
    seen.push(words)
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab never came to "${name}", but to ${[...new Set(seen)].join(', ')}`)
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, label)
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).first().waitFor()
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** Follows the navigation and waits for the page. */
async function go(page: Page, name: string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}

/** One of several radio buttons: Tab goes to the group, the arrows within it. */
async function choose(page: Page, name: string): Promise<void> {
  const deadline = performance.now() + STOPS_MS
  for (let stop = 0; stop < STOPS || performance.now() < deadline; stop++) {
    const isRadio = await page.evaluate<boolean>("document.activeElement.type === 'radio'")
    if (isRadio && (await focused(page)) === name) return
    await page.keyboard.press(isRadio ? 'ArrowRight' : 'Tab')
  }
  throw new Error(`there is no "${name}" to choose`)
}
