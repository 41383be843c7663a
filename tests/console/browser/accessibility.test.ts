import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import {
  blankLists,
  brokenWords,
  buriedFields,
  coveredCode,
  crookedButtons,
  excessOf,
  faultsOf,
  hiddenColumns,
  smallTargets,
} from './faults.ts'
import { FURNISHED_MODEL, furnish } from './furnish.ts'
import { administratorPlaces, GATES, HOLDER_PLACES, type Place } from './places.ts'
import { becomeOwner, goTo, OWNER, openStage, type Stage } from './stage.ts'

const WIDE = { width: 1440, height: 900 }
const MIDDLE = { width: 768, height: 1024 }
/** The least that WCAG wants a page to fit (1.4.10): 1280 pixels at 400 %. */
const NARROW = { width: 320, height: 640 }
/** The same for 1280 by 1024 pixels. */
const LOW = { width: 320, height: 256 }

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
    await becomeOwner(owner, stage)
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  const signedIn = (): Place[] => [
    ...HOLDER_PLACES,
    { name: 'receipt', path: `/requests?receipt=${requestId}`, heading: 'Receipt', isDialog: true },
    ...administratorPlaces(FURNISHED_MODEL, accountId),
  ]

  // Each page is looked at once, in every way: to load it takes longer than to look.
  const faults: string[] = []
  const pale: string[] = []
  const wide: string[] = []
  const hidden: string[] = []
  const small: string[] = []
  const blank: string[] = []
  const crooked: string[] = []
  const buried: string[] = []
  const broken: string[] = []
  const covered: string[] = []

  const look = async (page: Page, place: Place) => {
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize(WIDE)
    await goTo(page, place)
    const note = async (list: string[], faults: Promise<string[]>) => {
      for (const fault of await faults) list.push(`${place.name}: ${fault}`)
    }
    await note(faults, faultsOf(page, '{}'))
    await note(blank, blankLists(page))
    await note(crooked, crookedButtons(page))
    await note(broken, brokenWords(page))
    await note(wide, excessOf(page, WIDE.width))
    await page.emulateMedia({ colorScheme: 'dark' })
    await note(pale, faultsOf(page, '{ runOnly: ["color-contrast"] }'))
    await page.setViewportSize(MIDDLE)
    await note(hidden, hiddenColumns(page))
    await page.setViewportSize(NARROW)
    await note(wide, excessOf(page, NARROW.width))
    await note(small, smallTargets(page))
    await note(covered, coveredCode(page))
    if (!place.isDialog) return
    await page.setViewportSize(LOW)
    await note(buried, buriedFields(page))
  }

  beforeAll(async () => {
    await look(owner.page, { name: 'first-steps', path: '/', heading: 'From here to your first answer' })
    ;({ accountId, requestId } = await furnish(stage, owner))
    for (const place of GATES) await look(stranger.page, place)
    for (const place of signedIn()) await look(owner.page, place)
    await owner.page.setViewportSize(WIDE)
    // What is shown once has no address, and neither has the sign-in over a page whose session has ended.
    await owner.page.goto('/keys?new=yes')
    await owner.page.getByRole('dialog').getByLabel('Name').waitFor()
    await owner.context.clearCookies()
    await owner.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const again = owner.page.getByRole('dialog', { name: 'Sign in again' })
    await again.getByLabel('Password').fill(OWNER.password)
    faults.push(...(await faultsOf(owner.page, '{}')))
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await owner.page.getByRole('dialog', { name: 'Your new key' }).waitFor()
    faults.push(...(await faultsOf(owner.page, '{}')))
    await owner.page.getByRole('button', { name: 'I have copied it' }).click()
  }, 2 * BROWSER_TIMEOUT_MS)

  test('has no fault that axe can find', () => {
    expect(faults).toEqual([])
  })

  test('shows what is chosen in each list to choose from', () => {
    expect(blank).toEqual([])
  })

  test('has the words of each button in its middle', () => {
    expect(crooked).toEqual([])
  })

  test('has no words too pale to read in the dark theme', () => {
    expect(pale).toEqual([])
  })

  test('shows all columns of its tables on 768 pixels, what something cost among them', () => {
    expect(hidden).toEqual([])
  })

  test('has nothing to press that is smaller than 24 pixels, but words of a sentence', () => {
    expect(small).toEqual([])
  })

  test('breaks no word of a table', () => {
    expect(broken).toEqual([])
  })

  test('has no button over the code that it copies, on 320 pixels', () => {
    expect(covered).toEqual([])
  })

  test('hides no field that has the focus, on 320 by 256 pixels', () => {
    expect(buried).toEqual([])
  })

  test(
    'says how it can be seen to whom JavaScript is off',
    async () => {
      const { page } = await stage.visitor({ javaScriptEnabled: false })
      await page.goto('/keys')
      await page.locator('main.gate').getByRole('heading', { name: 'JavaScript is off' }).waitFor()
    },
    BROWSER_TIMEOUT_MS,
  )

  test('fits 1440 and 320 pixels: nothing but a container of its own scrolls sideways', () => {
    expect(wide).toEqual([])
  })

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
        // Both come right after the heading, not with it.
        await page.locator('h1:focus').waitFor()
        await page.waitForFunction(`document.title === ${JSON.stringify(`${name} · Tollgate`)}`)
        titles.add(await page.title())
      }
      expect(titles.size).toBe(names.length)
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'shows in colours that the system forces what is chosen, and which line of a chart is which',
    async () => {
      const { page } = owner
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' })
      await goTo(page, { name: 'overview', path: '/', heading: 'Overview' })
      await page.locator('.chart canvas').waitFor()
      const groundsOf = (selector: string) =>
        page.evaluate<string[]>(`[...document.querySelectorAll('${selector}')].map(one =>
          getComputedStyle(one).backgroundColor)`)
      for (const [chosen, other] of [
        ['.segments label:has(:checked)', '.segments label:not(:has(:checked))'],
        ['.nav a[aria-current]', '.nav a:not([aria-current])'],
      ] as const) {
        expect((await groundsOf(chosen))[0]).not.toBe((await groundsOf(other))[0])
      }
      const swatches = await groundsOf('.legend-list .swatch')
      expect(swatches.length).toBeGreaterThan(1)
      expect(new Set(swatches).size).toBe(swatches.length)
      // A ground of their own is none then, and a border says where they end.
      await goTo(page, { name: 'keys', path: '/keys', heading: 'Keys' })
      const border = "getComputedStyle(document.querySelector('.badge')).borderTopStyle"
      expect(await page.evaluate<string>(border)).toBe('solid')
      await page.emulateMedia({ forcedColors: 'none' })
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'makes the part of a chart that is not whole paler in colours that the system forces, and paints it anew with them',
    async () => {
      const page = await owner.context.newPage()
      // What makes paler is half the ground.
      await page.addInitScript(`
        window.grounds = []
        const { fillRect } = CanvasRenderingContext2D.prototype
        CanvasRenderingContext2D.prototype.fillRect = function (...given) {
          if (this.globalAlpha === 0.5) window.grounds.push(this.fillStyle)
          fillRect.apply(this, given)
        }`)
      await page.emulateMedia({ colorScheme: 'dark', forcedColors: 'none' })
      await goTo(page, { name: 'overview', path: '/', heading: 'Overview' })
      const isPainted = async () => (await page.evaluate<number>('window.grounds.length')) > 0
      await until(isPainted)
      const before = await page.evaluate<string[]>('window.grounds.splice(0)')
      await page.emulateMedia({ colorScheme: 'dark', forcedColors: 'active' })
      await until(isPainted)
      const after = await page.evaluate<string[]>('window.grounds')
      expect(before).toContain('#181c1d')
      expect(new Set(after)).toEqual(new Set(['#000000']))
      await page.close()
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
