import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { excessOf, hiddenColumns } from './faults.ts'
import { FURNISHED_MODEL, furnish } from './furnish.ts'
import { administratorPlaces, HOLDER_PLACES } from './places.ts'
import { becomeOwner, createKey, goTo, openStage, type Stage } from './stage.ts'

/** As long as the API takes them, from right to left and then in one word; markup in them is text. */
const NAME = `${'אבג'.repeat(20)} <img src=x onerror=alert(1)> ${'W'.repeat(100)}`
/** No word of it can be broken between two letters by a browser that is not told to. */
const EMAIL = `${'somebody'.repeat(7)}@${'department.'.repeat(9)}example.com`
const WORD = 'W'.repeat(200)
const NAMING = new Set([
  'overview',
  'keys',
  'requests',
  'billing',
  'models',
  'settings',
  'all-requests',
  'accounts',
  'account',
  'users',
  'channels',
  'models-and-prices',
  'model',
  'audit-log',
])
const WIDTHS = [1280, 768, 375]

describe.skipIf(!HAS_BROWSER)('names of models, keys and users', () => {
  let stage: Stage
  let owner: Visitor
  let accountId = 0

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    await becomeOwner(owner, stage)
    ;({ accountId } = await furnish(stage, owner))
    await send('channels', {
      name: WORD,
      format: 'openai-responses',
      base_url: stage.simulator.url,
      api_keys: [],
    })
    await send('models', { id: WORD, channels: [{ channel: WORD }], prices: { input: '1', output: '1' } })
    await send(`accounts/${accountId}/models`, { models: [WORD] }, 'PUT')
    await send(`accounts/${accountId}/credit`, { amount: '1000000', reason: WORD })
    await stage.database.sql`update api_key set name = ${WORD}, requests_per_minute = 100`
    await createKey(owner, 'another')
    await stage.database.sql`update api_key set name = ${NAME} where name = 'another'`
    await stage.database.sql`update model set display_name = ${NAME}`
    await stage.database.sql`update account set email = ${EMAIL}`
    await stage.database.sql`update console_user set email = ${EMAIL}`
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  async function send(path: string, body: object, method = 'POST'): Promise<void> {
    const headers = { origin: stage.consoleUrl }
    const answer = await owner.page.request.fetch(`/api/admin/${path}`, { method, data: body, headers })
    expect(`${path}: ${answer.status()}`).toBe(`${path}: 200`)
  }

  test(
    'however long, make no page wider than its screen, push no column out of a table, and are never read as markup',
    async () => {
      const { page } = owner
      const wide: string[] = []
      for (const place of [...HOLDER_PLACES, ...administratorPlaces(FURNISHED_MODEL, accountId)]) {
        if (!NAMING.has(place.name)) continue
        await goTo(page, place)
        expect(await page.locator('img[src="x"]').count()).toBe(0)
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 })
          for (const excess of await excessOf(page, width)) wide.push(`${place.name}: ${excess}`)
          // What was used has a column for each name, and scrolls.
          const hidden = (await hiddenColumns(page)).filter(table => !table.endsWith(' as a table'))
          for (const table of hidden) wide.push(`${place.name}: ${table} at ${width}`)
        }
      }
      await page.goto(`/admin/accounts/${accountId}`)
      await page.getByRole('button', { name: 'Close', exact: true }).click()
      await page.getByRole('dialog').getByText('is signed out').first().waitFor()
      const cut =
        '[...document.querySelectorAll("dialog p")].filter(p => p.scrollWidth > p.clientWidth).length'
      if ((await page.evaluate<number>(cut)) > 0) wide.push('closing: words beyond the edge of the dialog')
      expect(wide).toEqual([])
      expect(owner.faults).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'of a million, an amount stands in one line wherever it is large',
    async () => {
      const { page } = owner
      const broken: string[] = []
      for (const place of ['/', '/billing', `/admin/accounts/${accountId}`]) {
        await page.goto(place)
        await page.getByText('$1,000,00').first().waitFor()
        for (const width of [1440, ...WIDTHS, 360]) {
          await page.setViewportSize({ width, height: 800 })
          const amounts = '[...document.querySelectorAll(".figure dd .number")]'
          const parts = await page.evaluate<number[]>(`${amounts}.map(one => one.getClientRects().length)`)
          if (parts.some(count => count !== 1)) broken.push(`${place} at ${width}`)
        }
      }
      expect(broken).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'of a million, an amount is whole on the axis of a chart',
    async () => {
      const { page } = owner
      // Texts of a chart are drawn, and those of its amounts end where they are said to stand.
      await page.addInitScript(`
        window.drawn = []
        const { fillText } = CanvasRenderingContext2D.prototype
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          const left = this.textAlign === 'right' ? x - this.measureText(text).width : x
          window.drawn.push({ text, left })
          fillText.call(this, text, x, y)
        }`)
      await stage.database.sql`update exchange set cost_nano = 1234567000000000 where cost_nano > 0`
      for (const width of [1280, 375]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto('/')
        await page.locator('.chart canvas').waitFor()
        const drawn = await page.evaluate<{ text: string; left: number }[]>('window.drawn')
        const amounts = drawn.filter(({ text }) => text.startsWith('$'))
        expect(amounts.some(({ text }) => text.length > '$1,000,000'.length)).toBe(true)
        expect(amounts.filter(({ left }) => left < 0)).toEqual([])
      }
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'beside many tokens and an exact cost hide nothing of the log, however wide the screen',
    async () => {
      const { page } = owner
      await stage.database.sql`
        update exchange set model = 'anthropic/claude-sonnet-4-5', channel = 'anthropic', input_uncached = 1234567,
          output_text = 12345, cost_nano = 123456789, total_ms = 64000`
      const wrong: string[] = []
      for (const width of [1024, 1250, 1280, 1366, 1441, 1920]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto('/admin/traffic?by=key')
        await page.getByText('$0.123456789').first().waitFor()
        if ((await hiddenColumns(page)).includes('Requests')) wrong.push(`columns at ${width}`)
        const channel = page.locator('td small.wide').first()
        if ((await channel.evaluate(one => one.getClientRects().length)) > 1)
          wrong.push(`channel at ${width}`)
      }
      expect(wrong).toEqual([])
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'beside exact amounts hide nothing of the statements, however wide the screen',
    async () => {
      const { page } = owner
      const month = {
        month: '2026-09',
        opening: '1234.123456789',
        credits: '5000.00',
        debits: '-2345.123456789',
        closing: '3888.123456789',
        entries: 3,
      }
      await page.route('**/api/billing/statements', route => route.fulfill({ json: { items: [month] } }))
      const wrong: string[] = []
      for (const width of [375, 760, 800, 1024, 1100, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto('/billing')
        const statements = page.getByRole('table', { name: 'Statements' })
        // In a column of its own, or with its month.
        await statements.getByText('$1,234.123456789').and(page.locator(':visible')).waitFor()
        if ((await hiddenColumns(page)).includes('Statements')) wrong.push(`columns at ${width}`)
      }
      expect(wrong).toEqual([])
      await page.unroute('**/api/billing/statements')
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'break in the audit log only where an address has a dot or its @',
    async () => {
      const { page } = owner
      await stage.database.sql`
        insert into admin_act (email, action, target, ip)
        values ('margarethe.hohenstein@example.com', 'model.update', 'model anthropic/claude-opus-4-1-20250805',
          '2001:db8:85a3:8d3:1319:8a2e:370:7348')`
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto('/admin/log?by=margarethe')
      await page.getByRole('cell').getByText('margarethe').waitFor()
      const lines = await page.evaluate<number[]>(`(() => {
        const texts = [...document.querySelector('td[data-label="By"] div').childNodes].filter(one => one.data?.trim())
        return texts.map(text => {
          const range = document.createRange()
          range.selectNodeContents(text)
          return range.getClientRects().length
        })
      })()`)
      expect(lines.length).toBeGreaterThan(1)
      expect(lines.every(count => count === 1)).toBe(true)
      // Nor is what unfolds the change parted from its arrow.
      for (const width of [760, 1024, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        const heights = await page.evaluate<number[]>(
          "[...document.querySelectorAll('td summary')].map(one => one.offsetHeight)",
        )
        expect(heights).toEqual([24])
        expect(await hiddenColumns(page)).toEqual([])
      }
      await page.setViewportSize({ width: 390, height: 800 })
      const lefts = await page.evaluate<number[]>(`
        [...document.querySelectorAll('td[data-label="By"] small, td[data-label="Time"] time')]
          .map(one => one.getBoundingClientRect().left)`)
      expect(new Set(lefts).size).toBe(1)
    },
    BROWSER_TIMEOUT_MS,
  )

  test(
    'turn no sentence round that they stand in',
    async () => {
      const { page } = owner
      await page.setViewportSize({ width: 1280, height: 800 })
      await stage.database.sql`update api_key set name = ${'\u202egnp.exe'}`
      await page.goto('/keys')
      await page
        .getByRole('button', { name: /^Revoke/ })
        .first()
        .click()
      await page.getByRole('dialog').locator('b').waitFor()
      const gap = await page.evaluate<number>(`(() => {
        const name = document.querySelector('dialog p b')
        const range = document.createRange()
        range.setStart(name.nextSibling, 0)
        range.setEnd(name.nextSibling, 6)
        return range.getBoundingClientRect().left - name.getBoundingClientRect().right
      })()`)
      // What follows the name stands behind it.
      expect(gap).toBeGreaterThanOrEqual(-1)
    },
    BROWSER_TIMEOUT_MS,
  )
})
