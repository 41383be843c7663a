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
  await tryAgain(within)
  const isWhole = await comes(page.getByRole('heading', { name: place.heading, exact: true }))
  return [
    ...(waits ? [] : ['does not say that it waits']),
    ...(says ? [] : ['does not say what went wrong']),
    ...((await goes(within.getByRole('alert').filter(unreached))) ? [] : ['does not get over it']),
    ...(isWhole ? [] : ['is not whole afterwards']),
  ]
}

/** What had failed by then, one after another; what fails after that stays, and is found. */
async function tryAgain(within: Page | Locator): Promise<void> {
  const buttons = within.getByRole('button', { name: 'Try again' })
  for (let times = 10; times > 0 && (await comes(buttons, 300)); times -= 1) {
    await buttons
      .first()
      .click({ timeout: 1000 })
      .catch(() => undefined)
    await comes(within.locator('[aria-busy="true"]'), 100)
  }
}

function comes(something: Locator, timeout = 2000): Promise<boolean> {
  return something
    .first()
    .waitFor({ timeout })
    .then(
      () => true,
      () => false,
    )
}

/** Whether none is left: on a busy machine the last answer may be on its way still. */
function goes(something: Locator): Promise<boolean> {
  return something
    .first()
    .waitFor({ state: 'detached', timeout: 2000 })
    .then(
      () => true,
      () => false,
    )
}
