import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const PATH = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** Whether there is a browser to test with; says so loudly if there is none, and then those tests do not run. */
export const HAS_BROWSER = existsSync(PATH)
if (!HAS_BROWSER) {
  console.warn(
    `\n!! There is no browser at ${PATH}: the console's browser tests DO NOT RUN. Set CHROMIUM_PATH.\n`,
  )
}

/** On a machine that does other work as well. */
export const BROWSER_TIMEOUT_MS = 280_000
const STEP_TIMEOUT_MS = 60_000

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: PATH,
    headless: true,
    // Root may not use the sandbox; the rest keeps the browser off every network but the console's.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** One person's browser: cookies and storage of its own. What goes wrong in its pages is collected, to be none. */
export interface Visitor {
  context: BrowserContext
  page: Page
  /** Errors on the console, uncaught ones, refusals of the content security policy, requests to anywhere else. */
  faults: string[]
}

/** Signs somebody in at a console, by the cookie of a session that they have. */
export async function signInBy(
  { cookie = '' }: { cookie: string | undefined },
  context: BrowserContext,
  consoleUrl: string,
): Promise<void> {
  const [name = '', value = ''] = cookie.split('=')
  await context.addCookies([{ name, value, url: consoleUrl }])
}

export async function openVisitor(
  browser: Browser,
  consoleUrl: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: consoleUrl, reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(STEP_TIMEOUT_MS)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', error => faults.push(`uncaught: ${error.message}`))
  page.on('console', message => {
    // A status that is no success is an answer that the page deals with.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(`console: ${message.text()}`)
    }
  })
  page.on('request', request => {
    if (!request.url().startsWith(consoleUrl) && !request.url().startsWith('data:')) {
      faults.push(`third party: ${request.url()}`)
    }
  })
  return { context, page, faults }
}
