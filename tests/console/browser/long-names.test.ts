import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { FURNISHED_MODEL, furnish } from './furnish.ts'
import { administratorPlaces, HOLDER_PLACES } from './places.ts'
import { becomeOwner, goTo, openStage, type Stage } from './stage.ts'

/** As long as the API takes them, from right to left and then in one word; markup in them is text. */
const NAME = `${'אבג'.repeat(20)} <img src=x onerror=alert(1)> ${'W'.repeat(100)}`
const NAMING = new Set(['overview', 'keys', 'requests', 'models', 'all-requests', 'account', 'model'])
const WIDTHS = [1280, 375]

describe.skipIf(!HAS_BROWSER)('names of models and keys', () => {
  let stage: Stage
  let owner: Visitor
  let accountId = 0

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    await becomeOwner(owner, stage)
    ;({ accountId } = await furnish(stage, owner))
    await stage.database.sql`update api_key set name = ${NAME}`
    await stage.database.sql`update model set display_name = ${NAME}`
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  test(
    'however long, make no page wider than its screen, and are never read as markup',
    async () => {
      const { page } = owner
      const wide: string[] = []
      for (const place of [...HOLDER_PLACES, ...administratorPlaces(FURNISHED_MODEL, accountId)]) {
        if (!NAMING.has(place.name)) continue
        await goTo(page, place)
        expect(await page.locator('img[src="x"]').count()).toBe(0)
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 })
          const excess = await page.evaluate<number>(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          )
          if (excess > 0) wide.push(`${place.name}: ${excess} pixels more than ${width}`)
        }
      }
      expect(wide).toEqual([])
      expect(owner.faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )
})
