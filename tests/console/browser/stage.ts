import type { Browser, Page } from 'playwright-core'
import { launchBrowser, openVisitor, type Visitor } from '#tests/support/browser.ts'
import { type ServerProcess, spawnServer } from '#tests/support/gateway/serve-process.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { type SimulatorServer, serveSimulator } from '@/simulator/serve.ts'
import type { Place } from './places.ts'

/** A whole deployment as `serve` starts it on an empty database, a vendor that is the simulator, and a browser. */
export interface Stage {
  browser: Browser
  database: TestDatabase
  server: ServerProcess
  /** The vendor: a server of its own, as a channel sees it. */
  simulator: SimulatorServer
  consoleUrl: string
  /** The printed link that makes the first administrator; works once. */
  firstLink: string
  /** A browser of somebody new. */
  visitor(options?: Parameters<typeof openVisitor>[2]): Promise<Visitor>
  /** Calls the API host with a key, streamed, and reads all of the answer. */
  ask(key: string, model: string, text?: string): Promise<{ status: number; text: string; id: string }>
  /** Waits until such a request is stored, a moment after its answer: a log that is read before is without it. */
  stored(request: { id: string } | { status: number }): Promise<void>
  close(): Promise<void>
}

export const OWNER = { email: 'owner@example.com', password: 'a long enough password' }

export async function openStage(): Promise<Stage> {
  const database = await testDatabase()
  const simulator = serveSimulator({ hostname: '127.0.0.1', port: 0 })
  const server = await spawnServer({
    env: {
      DATABASE_URL: database.url,
      TOLLGATE_SECRET: 'a secret for the browser tests, long enough',
      CONSOLE_PORT: '0',
    },
  })
  const firstLink = /https?:\/\/\S+\/link#\S+/.exec(server.output())?.[0]
  if (firstLink === undefined) {
    await Promise.all([server.close(), simulator.stop()])
    await database.close()
    throw new Error(`no link was printed: ${server.output()}`)
  }
  const consoleUrl = new URL(firstLink).origin
  const browser = await launchBrowser()
  return {
    browser,
    database,
    server,
    simulator,
    consoleUrl,
    firstLink,
    visitor: options => openVisitor(browser, consoleUrl, options),
    async ask(key, model, text = 'Hello, Tollgate!') {
      const response = await fetch(`${server.apiUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: text }] }),
      })
      const id = response.headers.get('x-request-id') ?? ''
      return { status: response.status, text: await response.text(), id }
    },
    async stored(request) {
      const { sql } = database
      const isThis = 'id' in request ? sql`id = ${request.id}` : sql`status = ${request.status}`
      await until(async () => (await sql`select from exchange where ${isThis}`).length > 0)
    },
    async close() {
      await browser.close()
      await server.close()
      await simulator.stop()
      await database.close()
    },
  }
}

/** Uses the printed link up and stays signed in. */
export async function becomeOwner({ page }: Visitor, stage: Stage): Promise<void> {
  await page.goto(stage.firstLink)
  await page.getByLabel('Email').fill(OWNER.email)
  await page.getByLabel('Password').fill(OWNER.password)
  await page.getByRole('button', { name: 'Make me the owner' }).click()
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
}

/** Adds the simulator as a vendor, in the format of Chat Completions. */
export async function addSimulator({ page }: Visitor, stage: Stage): Promise<void> {
  await page.goto('/admin/channels?new=yes')
  const dialog = page.getByRole('dialog', { name: 'Add a channel' })
  await dialog.getByText('Another', { exact: true }).click()
  await dialog.getByLabel('Your key there').fill('a-key-of-the-vendor-1234')
  await dialog.getByLabel('Name', { exact: true }).fill('simulator')
  await dialog.getByLabel('Format').selectOption('OpenAI Chat Completions')
  await dialog.getByLabel('Address', { exact: true }).fill(addressOf(stage.simulator))
  await dialog.getByRole('button', { name: 'Add channel' }).click()
  await page.getByRole('dialog', { name: 'simulator is added' }).waitFor()
}

/** Adds a model of the simulator at a price. */
export async function addModel(
  { page }: Visitor,
  model: { id: string; there: string; perRequest: string; input?: string; output?: string },
): Promise<void> {
  await page.goto('/admin/models?new=yes')
  const dialog = page.getByRole('dialog', { name: 'Add a model' })
  await dialog.getByLabel('Id', { exact: true }).fill(model.id)
  await dialog.getByLabel('Its name there').fill(model.there)
  await dialog
    .getByLabel('Input', { exact: false })
    .first()
    .fill(model.input ?? '0')
  await dialog
    .getByLabel('Output', { exact: false })
    .first()
    .fill(model.output ?? '0')
  await dialog.getByText('More prices').click()
  await dialog.getByLabel('Each request').fill(model.perRequest)
  await dialog.getByRole('button', { name: 'Add model' }).click()
  await page.getByRole('link', { name: model.id }).waitFor()
}

/** Makes a key and reads it off the one dialog that shows it. */
export async function createKey({ page }: Visitor, name: string): Promise<string> {
  await page.goto('/keys?new=yes')
  const dialog = page.getByRole('dialog', { name: 'Create a key' })
  await dialog.getByLabel('Name', { exact: true }).fill(name)
  await dialog.getByRole('button', { name: 'Create key' }).click()
  const shown = page.getByRole('dialog', { name: 'Your new key' })
  const key = (await shown.getByTestId('secret').textContent()) ?? ''
  await shown.getByRole('button', { name: 'I have copied it' }).click()
  await shown.waitFor({ state: 'detached' })
  return key
}

export function addressOf(simulator: SimulatorServer): string {
  return String(simulator.url).replace(/\/$/, '')
}

/** Goes to a place and waits until nothing on it is still loading. */
export async function goTo(page: Page, place: Place): Promise<void> {
  // A change of the part behind `#` alone would load nothing.
  await page.goto('about:blank')
  await page.goto(place.path)
  await page.getByRole('heading', { name: place.heading, exact: true }).first().waitFor()
  await page.locator('.waiting').first().waitFor({ state: 'detached' })
}
