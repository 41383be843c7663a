import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface AxeResults {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[]
}

/** What axe finds on a page. Through the debugger, since the page's own policy lets no foreign script in. */
export async function faultsOf(page: Page, options = '{}'): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`)
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(node => `${node.html} ${node.failureSummary}`).join('\n')}`,
  )
}

/** By how much a page is wider than the window, if it is. */
export async function excessOf(page: Page, width: number): Promise<string[]> {
  const excess = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  return excess > 0 ? [`${excess} pixels more than ${width}`] : []
}

/** Buttons, and links that look like one, whose words are not in their middle. */
export function crookedButtons(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('.button')].filter(button => !getComputedStyle(button).display.includes('flex'))
      .map(button => button.textContent)`,
  )
}

/** Tables that have to be scrolled sideways, by name. */
export function hiddenColumns(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('.table-wrap')].filter(wrap => wrap.scrollWidth > wrap.clientWidth)
      .map(wrap => wrap.getAttribute('aria-label'))`,
  )
}

/** What is pressed and is narrower or lower than 24 pixels (WCAG 2.5.8). A word of a sentence may be. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('a[href], button, select, textarea, summary, .check, .segments label, input')]
      .filter(one => one.checkVisibility() && one.closest('dialog, main') !== null && one.closest('label') !== one.parentElement)
      .filter(one => getComputedStyle(one).display !== 'inline' || one.parentElement.textContent === one.textContent)
      .filter(one => one.offsetWidth < 24 || one.offsetHeight < 24)
      .map(one => one.outerHTML)`,
  )
}

/** Single words in the cells of a table that are broken over lines; code may be. */
export function brokenWords(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('td.wide, td span.soft, td .badge')]
      .filter(one => {
        const words = document.createRange()
        words.selectNodeContents(one.firstElementChild ?? one)
        return !/\\s/.test(one.textContent) && words.getClientRects().length > 1
      })
      .map(one => one.closest('tr').textContent)`,
  )
}

/** Fields of a dialog that are not whole to be seen when they have the focus. */
export function buriedFields(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('dialog[open] :is(input, select, textarea).control')]
      .filter(one => one.checkVisibility())
      .filter(one => {
        one.focus()
        const { left, top, bottom, width } = one.getBoundingClientRect()
        return [top + 2, bottom - 2].some(y => document.elementFromPoint(left + width / 2, y) !== one)
      })
      .map(one => one.outerHTML)`,
  )
}

/** Lists to choose from that show nothing as chosen. */
export function blankLists(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('select')]
      .filter(one => one.selectedOptions.length === 0 || one.selectedOptions[0].text === '')
      .map(one => one.outerHTML)`,
  )
}

/** Code that a copy button lies over. */
export function coveredCode(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('.code')].filter(({ firstElementChild, lastElementChild }) => {
      const [code, button] = [firstElementChild, lastElementChild].map(one => one.getBoundingClientRect())
      return button.left < code.right && button.right > code.left && button.top < code.bottom && button.bottom > code.top
    }).map(one => one.textContent)`,
  )
}
