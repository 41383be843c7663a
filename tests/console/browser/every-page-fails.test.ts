import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { FURNISHED_MODEL, furnish } from './furnish.ts'
import { administratorPlaces, HOLDER_PLACES, type Place } from './places.ts'
import { becomeOwner, openStage, type Stage } from './stage.ts'

/** What a page asks for, beside who is signed in. */
const QUESTIONS = /\/api\/(?!deployment)/

describe.skipIf(!HAS_BROWSER)('every page whose answers do not come', () => {
  let stage: Stage
  let owner: Visitor
  let places: Place[] = []

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    await becomeOwner(owner, stage)
    const { accountId } = await furnish(stage, owner)
    const all = [...HOLDER_PLACES, ...administratorPlaces(FURNISHED_MODEL, accountId)]
    places = all.filter(({ name }) => name !== 'nowhere')
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  test(
    'says that it waits, then what went wrong, and is whole once one has tried again',
    async () => {
      for (const place of places) {
        // The first fault ends it: a test that runs out of time, waiting in vain for several, names none of them.
        expect({ [place.name]: await faultOf(owner.page, place) }).toEqual({ [place.name]: 'none' })
      }
    },
    BROWSER_TIMEOUT_MS,
  )

  test('goes wrong nowhere', () => expect(owner.faults).toEqual([]))
})

/** The first thing that is not as it has to be. */
async function faultOf(page: Page, place: Place): Promise<string> {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route(QUESTIONS, async route => {
    await held
    await route.abort()
  })
  await page.goto('about:blank')
  await page.goto(place.path)
  const waits = await comes(page.locator('[role="status"]', { hasText: 'Loading' }))
  release()
  if (!waits) return 'does not say that it waits'
  const unreached = { hasText: 'cannot be reached' }
  if (!(await comes(page.getByRole('alert').filter(unreached)))) return 'does not say what went wrong'
  await page.unroute(QUESTIONS)
  // What a dialog lies over is out of reach until it is closed.
  const within = place.isDialog === true ? page.getByRole('dialog') : page
  if (!(await tryAgain(within, within.getByRole('alert').filter(unreached)))) return 'does not get over it'
  const heading = page.getByRole('heading', { name: place.heading, exact: true })
  return (await comes(heading)) ? 'none' : 'is not whole afterwards'
}

/** How long is waited for what comes at once on a machine that has nothing else to do. */
const PATIENCE_MS = 60_000

/**
 * Presses until nothing says that it failed, nor waits, as whatever asks does either until it has its answer. False: it
 * does not come to that.
 */
async function tryAgain(within: Page | Locator, failures: Locator): Promise<boolean> {
  const idle = within.locator('button:not([aria-busy="true"])', { hasText: 'Try again' })
  const unanswered = failures.or(within.locator('.waiting'))
  const end = Date.now() + PATIENCE_MS
  while ((await unanswered.count()) > 0) {
    if (Date.now() > end) return false
    // The one that was seen may be gone or busy by now.
    if ((await idle.count()) > 0) await idle.first().click({ timeout: 2_000 }).catch(noMatter)
  }
  return true
}

function noMatter(): void {}

function comes(something: Locator): Promise<boolean> {
  return something
    .first()
    .waitFor({ timeout: PATIENCE_MS })
    .then(
      () => true,
      () => false,
    )
}
