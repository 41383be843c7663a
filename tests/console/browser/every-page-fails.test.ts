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
      const faults: string[] = []
      for (const place of places) {
        for (const fault of await faultsOf(owner.page, place)) faults.push(`${place.name} ${fault}`)
      }
      expect(faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test('goes wrong nowhere', () => expect(owner.faults).toEqual([]))
})

async function faultsOf(page: Page, place: Place): Promise<string[]> {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route(QUESTIONS, async route => {
    await held
    await route.abort()
  })
  await page.goto('about:blank')
  await page.goto(place.path)
  const waits = await comes(page.locator('[role="status"]', { hasText: 'Loading' }))
  release()
  const unreached = { hasText: 'cannot be reached' }
  const says = await comes(page.getByRole('alert').filter(unreached))
  await page.unroute(QUESTIONS)
  // What a dialog lies over is out of reach until it is closed.
  const within = place.isDialog === true ? page.getByRole('dialog') : page
  const getsOver = await tryAgain(within, within.getByRole('alert').filter(unreached))
  const isWhole = await comes(page.getByRole('heading', { name: place.heading, exact: true }))
  return [
    ...(waits ? [] : ['does not say that it waits']),
    ...(says ? [] : ['does not say what went wrong']),
    ...(getsOver ? [] : ['does not get over it']),
    ...(isWhole ? [] : ['is not whole afterwards']),
  ]
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
