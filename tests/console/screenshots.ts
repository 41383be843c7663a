import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { FURNISHED_MODEL, furnish } from './browser/furnish.ts'
import { administratorPlaces, GATES, HOLDER_PLACES, type Place } from './browser/places.ts'
import { becomeOwner, goTo, openStage } from './browser/stage.ts'

/** `bun run screenshots [DIRECTORY]`: every page, wide and narrow, light and dark, for somebody to look at. */

const [directory = 'screenshots'] = parseArgs({ allowPositionals: true }).positionals
const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]

const stage = await openStage()
try {
  const owner = await stage.visitor()
  const stranger = await stage.visitor()
  await owner.page.goto(stage.firstLink)
  await owner.page.getByRole('button', { name: 'Make me the owner' }).waitFor()
  mkdirSync(directory, { recursive: true })
  await owner.page.screenshot({ path: join(directory, '1440-light-first-link.png') })
  await becomeOwner(owner, stage)
  await owner.page.getByRole('heading', { name: 'From here to your first answer', exact: true }).waitFor()
  await owner.page.screenshot({ path: join(directory, '1440-light-first-steps.png') })
  const { accountId, requestId } = await furnish(stage, owner)
  const signedIn: Place[] = [
    ...HOLDER_PLACES,
    { name: 'receipt', path: `/requests?receipt=${requestId}`, heading: 'Receipt', isDialog: true },
    ...administratorPlaces(FURNISHED_MODEL, accountId),
  ]
  for (const size of SIZES) {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const { page } of [owner, stranger]) {
        await page.setViewportSize(size)
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      }
      const take = async ({ page }: typeof owner, place: Place) => {
        await goTo(page, place)
        const path = join(directory, `${size.width}-${colorScheme}-${place.name}.png`)
        await page.screenshot({ path, fullPage: place.isDialog !== true })
      }
      for (const place of GATES) await take(stranger, place)
      for (const place of signedIn) await take(owner, place)
    }
  }
} finally {
  await stage.close()
  await closeTestServer()
}
