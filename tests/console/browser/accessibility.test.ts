import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { FURNISHED_MODEL, furnish } from './furnish.ts'
import { administratorPlaces, GATES, HOLDER_PLACES, type Place } from './places.ts'
import { goTo, openStage, type Stage } from './stage.ts'

const WIDTHS = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]

describe.skipIf(!HAS_BROWSER)('every page of the console', () => {
  let stage: Stage
  let owner: Visitor
  let stranger: Visitor
  let accountId = 0
  let requestId = ''

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    stranger = await stage.visitor()
    ;({ accountId, requestId } = await furnish(stage, owner))
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  const signedIn = (): Place[] => [
    ...HOLDER_PLACES,
    { name: 'receipt', path: `/requests?receipt=${requestId}`, heading: 'Receipt', isDialog: true },
    ...administratorPlaces(FURNISHED_MODEL, accountId),
  ]

  const visitAll = async (check: (page: Page, place: Place) => Promise<void>) => {
    for (const place of GATES) {
      await goTo(stranger.page, place)
      await check(stranger.page, place)
    }
    for (const place of signedIn()) {
      await goTo(owner.page, place)
      await check(owner.page, place)
    }
  }

  test.each(['light', 'dark'] as const)(
    'has no serious fault that axe can find, in %s',
    async colorScheme => {
      for (const { page } of [owner, stranger]) await page.emulateMedia({ colorScheme })
      const found: string[] = []
      await visitAll(async (page, place) => {
        for (const fault of await faultsOf(page)) found.push(`${place.name}: ${fault}`)
      })
      expect(found).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test.each(WIDTHS)(
    'fits a screen of $width pixels: nothing but a container of its own scrolls sideways',
    async size => {
      for (const { page } of [owner, stranger]) await page.setViewportSize(size)
      const wide: string[] = []
      await visitAll(async (page, place) => {
        const excess = await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        if (excess > 0) wide.push(`${place.name}: ${excess}`)
      })
      expect(wide).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'says where one is: one heading of the first order, which has the focus after a change of page, and a title',
    async () => {
      const { page } = owner
      const titles = new Set<string>()
      await goTo(page, { name: 'overview', path: '/', heading: 'Overview' })
      const names = await page.getByRole('navigation').getByRole('link').allTextContents()
      for (const name of names.map(text => text.trim()).toReversed()) {
        await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
        await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
        expect(await page.locator('h1').count()).toBe(1)
        expect(await page.evaluate<string>('document.activeElement.tagName')).toBe('H1')
        titles.add(await page.title())
      }
      expect(titles.size).toBe(names.length)
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'is in the chosen theme from the first paint on',
    async () => {
      const { page } = stranger
      await page.emulateMedia({ colorScheme: 'light' })
      await page.goto('/sign-in')
      await page.getByRole('button', { name: /^Theme/ }).click()
      await page.getByRole('button', { name: /^Theme: light/ }).click()
      const dark = await page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
      // The pages' own script never comes: what is painted now is painted before it.
      await page.route('**/assets/main-*.js', route => route.abort())
      await page.reload({ waitUntil: 'domcontentloaded' })
      expect(await page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')).toBe(
        dark,
      )
      expect(await page.evaluate<string>('document.documentElement.dataset.theme')).toBe('dark')
      await page.unroute('**/assets/main-*.js')
    },
    BROWSER_TIMEOUT_MS,
  )

  test('goes wrong nowhere', () => {
    expect(owner.faults).toEqual([])
    expect(stranger.faults.filter(fault => !fault.includes('ERR_FAILED'))).toEqual([])
  })
})

interface AxeResults {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

/** Through the debugger, since the page's own policy lets no foreign script in. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<AxeResults>('axe.run(document, { resultTypes: ["violations"] })')
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(node => `${node.html} ${node.failureSummary}`).join('\n')}`)
}
