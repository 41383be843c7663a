import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import type { Page, Route } from 'playwright-core'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { seedRequests } from './furnish.ts'
import { addModel, addSimulator, becomeOwner, createKey, OWNER, openStage, type Stage } from './stage.ts'

/** What comes between a person and what they were about to do: nothing that was typed is lost, nothing is done twice. */
describe.skipIf(!HAS_BROWSER)('in the middle of something', () => {
  let stage: Stage
  let owner: Visitor
  let page: Page
  let accountId = 0

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    page = owner.page
    await becomeOwner(owner, stage)
    const [row] = await stage.database.sql`select id from account order by id limit 1`
    accountId = Number(row?.['id'])
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  const guarantee = (name: string, run: () => Promise<void>) => test(name, run, BROWSER_TIMEOUT_MS)

  guarantee('a press beside a dialog closes it only while nothing is typed', async () => {
    const dialog = await openNewAccount(page)
    await dialog.getByLabel('Email').fill('typed@example.com')
    await page.mouse.click(5, 5)
    expect(await dialog.getByLabel('Email').inputValue()).toBe('typed@example.com')
    await openNewAccount(page)
    await page.mouse.click(5, 5)
    await dialog.waitFor({ state: 'detached' })
  })

  guarantee('Escape, however often it is pressed, takes nothing away that is shown once', async () => {
    await page.goto('/keys?new=yes')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('dialog', { name: 'Your new key' })
    await shown.waitFor()
    for (let time = 0; time < 3; time += 1) await page.keyboard.press('Escape')
    await shown.getByTestId('secret').waitFor()
    await shown.getByRole('button', { name: 'I have copied it' }).click()
    await shown.waitFor({ state: 'detached' })
  })

  guarantee('neither the back button nor a reload takes away what is shown once', async () => {
    // Before the page's own listener, which tells no other.
    await page.addInitScript("timesTold = 0; addEventListener('popstate', () => { timesTold += 1 })")
    await page.goto('/')
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const { route, release } = gate()
    await page.route('**/api/keys', async request => {
      if (request.request().method() === 'POST') await route
      await request.continue()
    })
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('kept')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('dialog').locator('[aria-busy="true"]').waitFor()
    await goBack(page, 1)
    await page.waitForURL('**/keys?new=yes')
    release()
    const shown = page.getByRole('dialog', { name: 'Your new key' })
    const key = await shown.getByTestId('secret').textContent()
    for (const steps of [1, 2]) {
      await goBack(page, steps)
      await shown.getByText('shown only once').waitFor()
      await page.waitForURL('**/keys?new=yes')
    }
    const asked = page.waitForEvent('dialog')
    // The browser asks while it runs: nothing may wait for it here.
    await page.evaluate('void setTimeout(() => location.reload())')
    const question = await asked
    expect(question.type()).toBe('beforeunload')
    await question.dismiss()
    await page.unroute('**/api/keys')
    expect(await shown.getByTestId('secret').textContent()).toBe(key)
    await shown.getByRole('button', { name: 'I have copied it' }).click()
    await shown.waitFor({ state: 'detached' })
    // Then it leads on again.
    await page.goBack()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  })

  guarantee('a dialog that has to wait for its form gives it the focus once it is there', async () => {
    const { route, release } = gate()
    await page.route('**/api/admin/catalogue', async request => {
      await route
      await request.continue()
    })
    await page.goto('/admin/channels?new=yes')
    await page.getByRole('dialog').getByText('Loading').waitFor()
    await page.locator('[aria-label="Close"]:focus').waitFor()
    release()
    await page.locator('input[type="radio"]:focus').waitFor()
    await page.unroute('**/api/admin/catalogue')
    await page.keyboard.press('Escape')
  })

  guarantee('an address that cannot be read leads to a page that says so', async () => {
    for (const path of ['/admin/models/%E0%A4%A', '/admin/accounts/%', '/%']) {
      await page.goto(path)
      await page.getByRole('heading', { name: 'There is no such page', exact: true }).waitFor()
    }
  })

  guarantee('what is said while a dialog is open is said over it', async () => {
    await page.goto('/keys?new=yes')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('dialog', { name: 'Your new key' })
    await shown.getByRole('button', { name: 'Copy the key' }).click()
    const said = shown.getByRole('status').getByText('Copied the key')
    await said.waitFor()
    // What a pointer meets there is the word itself, and no backdrop.
    const { x, y, width, height } = (await said.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    const met = `document.elementFromPoint(${x + width / 2}, ${y + height / 2}).textContent`
    expect(await page.evaluate<string>(met)).toBe('Copied the key')
    await shown.getByRole('button', { name: 'I have copied it' }).click()
  })

  guarantee(
    'a session that has ended is taken up again over the page, which keeps what was typed',
    async () => {
      const dialog = await openNewAccount(page)
      await dialog.getByLabel('Email').fill('kept@example.com')
      await dialog.getByLabel('Your password').fill(OWNER.password)
      await owner.context.clearCookies()
      await dialog.getByRole('button', { name: 'Create account' }).click()
      const again = page.getByRole('dialog', { name: 'Sign in again' })
      await again.getByLabel('Password').fill(OWNER.password)
      await again.getByRole('button', { name: 'Sign in', exact: true }).click()
      const made = page.getByRole('dialog', { name: 'The account is made' })
      await made.getByText('kept@example.com').waitFor()
      expect(await again.count()).toBe(0)
    },
  )

  guarantee(
    'while the answer is on its way a dialog stays, and what it asked for is asked once',
    async () => {
      const dialog = await openCredit(page, accountId)
      const balance = await page.getByTestId('balance').textContent()
      const { route, release } = gate()
      let asked = 0
      await page.route('**/credit', async request => {
        asked += 1
        await route
        await request.continue()
      })
      await dialog.getByLabel('Amount').fill('5')
      await dialog.getByLabel('Reason').fill('slowly')
      await dialog.getByRole('button', { name: 'Give credit' }).click()
      await dialog.locator('[aria-busy="true"]').waitFor()
      await page.keyboard.press('Escape')
      expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
      await dialog.getByRole('button', { name: 'Give credit' }).click({ force: true })
      await dialog.getByLabel('Reason').press('Enter')
      expect(await dialog.isVisible()).toBe(true)
      release()
      await dialog.waitFor({ state: 'detached' })
      await page.unroute('**/credit')
      expect(asked).toBe(1)
      await page.getByText('$6.00').first().waitFor()
      expect(balance).toBe('$1.00')
    },
  )

  guarantee('credit whose answer was lost on its way is given once, however often one tries', async () => {
    const before = await balanceOf(stage, accountId)
    const dialog = await openCredit(page, accountId)
    await dialog.getByLabel('Amount').fill('3')
    await dialog.getByLabel('Reason').fill('lost')
    await page.route('**/credit', lose)
    await dialog.getByRole('button', { name: 'Give credit' }).click()
    await dialog.getByText('The console cannot be reached').waitFor()
    await page.unroute('**/credit')
    await dialog.getByRole('button', { name: 'Give credit' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await balanceOf(stage, accountId)) - before).toBe(3_000_000_000n)
  })

  guarantee('whoever looks whether credit was given whose answer was lost sees that it was', async () => {
    const dialog = await openCredit(page, accountId)
    const before = (await page.getByTestId('balance').textContent()) ?? ''
    await dialog.getByLabel('Amount').fill('2')
    await dialog.getByLabel('Reason').fill('lost and looked for')
    await page.route('**/credit', lose)
    await dialog.getByRole('button', { name: 'Give credit' }).click()
    await dialog.getByText('look whether it was done').waitFor()
    await page.unroute('**/credit')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('table', { name: 'Entries' }).getByText('lost and looked for').waitFor()
    await page.getByTestId('balance').filter({ hasNotText: before }).waitFor()
  })

  guarantee('of a key whose answer was lost it is said to look before making another one', async () => {
    await page.goto('/keys?new=yes')
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.getByLabel('Name', { exact: true }).fill('made and lost')
    await page.route('**/api/keys', async request => {
      if (request.request().method() === 'GET') return request.fallback()
      await request.fetch()
      await request.abort()
    })
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('alert').getByText('look whether it was done').waitFor()
    await page.unroute('**/api/keys')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Revoke made and lost' }).waitFor()
  })

  guarantee('keys and codes whose answer was lost are made once, and shown to who tries again', async () => {
    const countOf = async () =>
      (await stage.database.sql`select hash from api_key union all select code_hash from redeem_code`).length
    const madeOnce = async (address: string, name: string) => {
      const before = await countOf()
      const make = page.getByRole('dialog').getByRole('button', { name })
      await page.route(address, route =>
        route.request().method() === 'GET' ? route.fallback() : lose(route),
      )
      await make.click()
      await page.getByRole('dialog').getByText('look whether it was done').waitFor()
      await page.unroute(address)
      await make.click()
      await page.getByRole('button', { name: /^I have copied/ }).click()
      expect((await countOf()) - before).toBe(1)
    }
    await page.goto('/keys?new=yes')
    await madeOnce('**/api/keys', 'Create key')
    await page.goto('/admin/redeem-codes')
    await page.getByRole('button', { name: 'Make codes' }).first().click()
    await page.getByLabel('Amount').fill('3')
    await madeOnce('**/api/admin/redeem-codes', 'Make codes')
  })

  guarantee('whoever closes a dialog whose answer was lost sees what was done', async () => {
    const dialog = page.getByRole('dialog')
    const loseThen = async (verb: string) => {
      await page.route('**/api/**', route =>
        route.request().method() === 'GET' ? route.fallback() : lose(route),
      )
      await dialog.getByRole('button', { name: verb }).click()
      await dialog.getByText('look whether it was done').waitFor()
      await page.unroute('**/api/**')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
    }
    await createKey(owner, 'told late')
    await page.getByRole('button', { name: 'Edit told late' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('told at last')
    await loseThen('Save')
    await page.getByRole('button', { name: 'Revoke told at last' }).click()
    await loseThen('Revoke key')
    await page.getByRole('row', { name: /told at last.*Revoked/ }).waitFor()
  })

  guarantee('who has used a link whose answer was lost is led to the sign-in', async () => {
    const dialog = await openNewAccount(page)
    await dialog.getByLabel('Email').fill('lost-in@example.com')
    await dialog.getByLabel('Your password').fill(OWNER.password)
    await dialog.getByRole('button', { name: 'Create account' }).click()
    const { page: theirs } = await stage.visitor()
    await theirs.goto((await page.getByTestId('link').textContent()) ?? '')
    await theirs.getByLabel('Password').fill(OWNER.password)
    await theirs.route('**/api/links/accept', lose)
    const accept = theirs.getByRole('button', { name: 'Accept the invitation' })
    await accept.click()
    await theirs.getByText('look whether it was done').waitFor()
    await theirs.unroute('**/api/links/accept')
    await accept.click()
    await theirs.getByText('was used already').waitFor()
    await theirs.getByRole('link', { name: 'Go to sign in' }).click()
    await theirs.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await theirs.context().close()
  })

  guarantee('a second factor whose answer was lost is seen to be on, and can be turned off', async () => {
    const dialog = page.getByRole('dialog')
    const code = dialog.getByRole('textbox', { name: 'Code' })
    const on = page.getByRole('button', { name: 'Turn on', exact: true })
    await page.goto('/settings')
    await on.click()
    await dialog.getByLabel('Your password').fill(OWNER.password)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await code.waitFor()
    const secret = Secret.fromBase32((await dialog.locator('.code code').textContent()) ?? '')
    const codeIn = (seconds: number) =>
      new TOTP({ secret }).generate({ timestamp: Date.now() + seconds * 1000 })
    await code.fill(codeIn(0))
    await page.route('**/totp/confirm', lose)
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await dialog.getByText('look whether it was done').waitFor()
    await page.unroute('**/totp/confirm')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Turn off' }).click()
    await dialog.getByLabel('Your password').fill(OWNER.password)
    // The code of the next half minute: the one before counts once.
    await code.fill(codeIn(30))
    await dialog.getByRole('button', { name: 'Turn off' }).click()
    await on.waitFor()
  })

  guarantee(
    'what is changed while the page still reads the change before is made from that one',
    async () => {
      await addSimulator(owner, stage)
      await addModel(owner, { id: 'again/echo', there: 'echo', perRequest: '0.10' })
      const limits = page.getByRole('dialog', { name: 'Limits' })
      await changedTwice(`/admin/accounts/${accountId}`, 'Limits', async requests => {
        await limits.getByLabel('Requests a minute').fill(requests)
        await limits.getByRole('button', { name: 'Save limits' }).click()
        await limits.waitFor({ state: 'detached' })
      })
      const model = page.getByRole('dialog', { name: 'Edit again/echo' })
      await changedTwice('/admin/models/again%2Fecho', 'Edit', async name => {
        await model.getByLabel('Display name').fill(name)
        await model.getByRole('button', { name: 'Save model' }).click()
        await model.waitFor({ state: 'detached' })
      })
      const channel = page.getByRole('dialog', { name: 'Edit simulator' })
      await changedTwice('/admin/channels', /^Edit/, async most => {
        await channel.getByText('Order, timeouts and more').click()
        await channel.getByLabel('Most at once').fill(most)
        await channel.getByRole('button', { name: 'Save' }).click()
        await channel.waitFor({ state: 'detached' })
      })
      await createKey(owner, 'again')
      const key = page.getByRole('dialog', { name: 'Edit key' })
      await changedTwice('/keys', /^Edit/, async name => {
        await key.getByLabel('Name', { exact: true }).fill(name)
        await key.getByRole('button', { name: 'Save' }).click()
        await key.waitFor({ state: 'detached' })
      })
    },
  )

  /** Opens what a button opens again, while the page's own question after the first change has no answer. */
  async function changedTwice(
    path: string,
    button: string | RegExp,
    change: (text: string) => Promise<void>,
  ) {
    const address = `**/api${path}`
    const opener = page.getByRole('button', { name: button, exact: true }).first()
    await page.goto(path)
    await opener.click()
    const read = gate()
    const asked = gate()
    await page.route(address, async request => {
      if (request.request().method() === 'GET') {
        asked.release()
        await read.route
      }
      await request.continue()
    })
    await change('100')
    await asked.route
    await opener.click()
    // Until it opens, the bar at the top and the pointer say that it comes.
    await page.locator('.progress').waitFor()
    expect(await page.evaluate<string>('getComputedStyle(document.activeElement).cursor')).toBe('progress')
    read.release()
    await change('200')
    await page.unroute(address)
    await page.getByText('200').first().waitFor()
  }

  guarantee('a page in the place of an answer is not taken for one, nor for none', async () => {
    await page.goto('/keys?new=yes')
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await page.route('**/api/keys', route =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 200, contentType: 'text/html', body: '<p>Please sign in to the proxy' })
        : route.fallback(),
    )
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('alert').getByText('Look whether it was done').waitFor()
    await page.unroute('**/api/keys')
  })

  guarantee('a page of a list that cannot be read leaves those that are there', async () => {
    await page.goto('/keys')
    const secret = await createKey(owner, 'first of many')
    expect(secret).toStartWith('sk-')
    await stage.database.sql`
      insert into api_key (account_id, name, lookup, hash)
      select ${accountId}, 'key ' || n, lpad(n::text, 8, '0'), decode(md5(n::text) || md5(n::text), 'hex')
      from generate_series(1, 60) as n`
    await page.goto('/keys')
    const rows = page.getByRole('table').getByRole('row')
    await page.getByRole('button', { name: 'Show more' }).waitFor()
    const count = await rows.count()
    await page.route('**/api/keys?cursor=*', fail)
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByRole('alert').filter({ hasText: 'out of order' }).waitFor()
    expect(await rows.count()).toBe(count)
    await page.unroute('**/api/keys?cursor=*')
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('first of many').first().waitFor()
    expect(await page.getByRole('alert').filter({ hasText: 'out of order' }).count()).toBe(0)
    // There is no button any more: one goes on where the page begins that it brought.
    await rows.nth(count).and(page.locator(':focus')).waitFor()
  })

  guarantee('a search that found nothing yet says how far it came, and goes on from there', async () => {
    const asked: (string | null)[] = []
    await page.route('**/api/requests?*', async route => {
      const cursor = new URL(route.request().url()).searchParams.get('cursor')
      asked.push(cursor)
      const isFirst = cursor === null
      const json = {
        items: [],
        next: isFirst ? Bun.randomUUIDv7() : null,
        searched_to: isFirst ? '2026-11-03T14:02:00.000Z' : null,
      }
      await route.fulfill({ json })
    })
    await page.goto('/requests?status=429')
    await page.getByText('No request matches so far').waitFor()
    await page.getByRole('status').filter({ hasText: 'Searched back to 3 Nov 2026' }).waitFor()
    await page.getByRole('button', { name: 'Search further back' }).click()
    await page.getByText('No request matches', { exact: true }).waitFor()
    expect(asked.map(cursor => cursor !== null)).toEqual([false, true])
    await page.unroute('**/api/requests?*')
  })

  guarantee('a list that cannot be read anew stays, and says that it is old', async () => {
    await page.goto('/keys')
    const rows = page.getByRole('table').getByRole('row')
    await rows.nth(1).waitFor()
    await page.route('**/api/keys', async route =>
      route.request().method() === 'GET' ? fail(route) : route.fallback(),
    )
    await page.getByRole('button', { name: 'Edit' }).first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('renamed')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').filter({ hasText: 'out of order' }).waitFor()
    expect(await rows.count()).toBeGreaterThan(10)
    await page.unroute('**/api/keys')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('renamed').first().waitFor()
  })

  guarantee('the back button closes what was opened over a page, and leaves the page', async () => {
    await page.goto('/keys')
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.waitFor()
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await page.goForward()
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  guarantee('what was opened over a page and closed is not in the browser history twice', async () => {
    await page.goto('/')
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('button', { name: 'Use a key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Use a key' })
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/keys')
    await page.goBack()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await page.goForward()
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
  })

  guarantee(
    'whoever comes back to a list finds as much of it as they had read, and where they were',
    async () => {
      await createKey(owner, 'read far')
      const [key] = await stage.database.sql`select id from api_key order by id desc limit 1`
      await seedRequests(stage, { accountId, keyId: Number(key?.['id']), count: 130, hours: 1 })
      await page.getByRole('link', { name: 'All requests', exact: true }).click()
      const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row')
      await page.getByRole('button', { name: 'Show more' }).click()
      const read = rows.nth(90)
      await read.scrollIntoViewIfNeeded()
      const [text, top] = [await read.textContent(), await page.evaluate<number>('scrollY')]
      await read.getByRole('link').first().click()
      await page.getByRole('heading', { name: OWNER.email, exact: true }).waitFor()
      await page.goBack()
      await read.waitFor()
      expect(await read.textContent()).toBe(text)
      await until(async () => (await page.evaluate<number>('scrollY')) === top)
      // A link leads to its beginning.
      await page.getByRole('link', { name: 'Keys', exact: true }).click()
      await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
      await page.getByRole('link', { name: 'All requests', exact: true }).click()
      await rows.nth(50).waitFor()
      expect([await rows.count(), await page.evaluate<number>('scrollY')]).toEqual([51, 0])
    },
  )

  guarantee('a list is as long as before after something of it was changed', async () => {
    await page.goto('/keys')
    const rows = page.getByRole('table').getByRole('row')
    await page.getByRole('button', { name: 'Show more' }).click()
    await rows.nth(60).waitFor()
    const count = await rows.count()
    await rows.nth(55).getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
    await rows.nth(55).getByText('Revoked', { exact: true }).waitFor()
    expect(await rows.count()).toBe(count)
  })

  guarantee('a live log that was refused is asked for again', async () => {
    await page.route('**/api/admin/live/requests', fail)
    await page.goto('/admin/traffic')
    await page.getByLabel(/^Live/).check()
    await page.getByText('Connecting', { exact: true }).waitFor()
    await page.unroute('**/api/admin/live/requests')
    await page.getByText('Live', { exact: true }).waitFor()
  })

  guarantee('a live log whose session has ended asks to sign in again, and goes on', async () => {
    await createKey(owner, 'live')
    const [key] = await stage.database.sql`select id from api_key order by id desc limit 1`
    await page.goto('/admin/traffic')
    await page.getByLabel(/^Live/).check()
    await page.getByText('Live', { exact: true }).waitFor()
    await stage.database.sql`delete from console_session`
    await seedRequests(stage, { accountId, keyId: Number(key?.['id']), count: 1, hours: 0 })
    const again = page.getByRole('dialog', { name: 'Sign in again' })
    await again.getByLabel('Password').fill(OWNER.password)
    await again.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('cell', { name: 'live', exact: true }).first().waitFor()
  })

  guarantee('a flood is in the live log without a gap, and without the end of the page', async () => {
    await createKey(owner, 'flood')
    const [key] = await stage.database.sql`select id from api_key order by id desc limit 1`
    await page.goto('/admin/traffic')
    await page.getByLabel(/^Live/).check()
    await page.getByText('Live', { exact: true }).waitFor()
    // More at once than the server keeps for a reader who is slow.
    await seedRequests(stage, { accountId, keyId: Number(key?.['id']), count: 700, hours: 0.001 })
    const momentsOf = async (limit: number) => {
      const rows = await stage.database.sql`select started_at from exchange order by id desc limit ${limit}`
      return rows.map(row => new Date(row['started_at']).toISOString())
    }
    const [newest] = await momentsOf(1)
    const moments = page.getByRole('table', { name: 'Requests' }).locator('time')
    const shown = () => moments.evaluateAll(all => all.map(one => one.getAttribute('datetime') ?? ''))
    // The newest may be there before the page has read anew what was between.
    await until(async () => {
      const all = await shown()
      return all[0] === newest && Bun.deepEquals(all, await momentsOf(all.length))
    })
    await page.getByRole('button', { name: 'Show more' }).waitFor()
  })

  guarantee('an address that names no account says so once, and leads on', async () => {
    for (const id of ['999999', 'nobody']) {
      await page.goto(`/admin/accounts/${id}`)
      await page.getByRole('heading', { name: 'There is no such account', exact: true }).waitFor()
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
    }
    await page.getByRole('link', { name: 'All accounts' }).click()
    await page.getByRole('heading', { name: 'Accounts', exact: true }).waitFor()
  })

  guarantee('an address that names no model says so, and leads on', async () => {
    await page.goto('/admin/models/nobody%2Fserves-it')
    await page.getByRole('heading', { name: 'There is no such model', exact: true }).waitFor()
    await page.getByText('No model is called nobody/serves-it.').waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
    await page.getByRole('link', { name: 'All models' }).click()
    await page.getByRole('heading', { name: 'Models and prices', exact: true }).waitFor()
  })

  guarantee('an address whose answer was lost is not said to be without an account', async () => {
    await page.goto('/admin/accounts')
    await page.getByRole('button', { name: 'Several accounts' }).click()
    const dialog = page.getByRole('dialog', { name: 'Several accounts' })
    const create = dialog.getByRole('button', { name: 'Create accounts' })
    const emails = dialog.getByLabel('Emails')
    await dialog.getByLabel('Your password').fill(OWNER.password)
    await emails.fill(Array.from({ length: 201 }, (_, n) => `many-${n}@example.com`).join('; '))
    await create.click()
    await dialog.getByText('At most 200 at once. These are 201.').waitFor()
    const { route, release } = gate()
    await page.route('**/api/admin/accounts', async request => {
      const asked = request.request().postData() ?? ''
      if (asked.includes('gated@')) await route
      if (!asked.includes('lost@')) return request.continue()
      await request.fetch()
      await request.abort()
    })
    await emails.fill(`${OWNER.email}; lost@example.com`)
    await create.click()
    await dialog.getByText('The console cannot be reached').waitFor()
    await emails.fill('Made <gated@example.com>; "Lost, too" <lost@example.com>; LOST@example.com')
    await create.click()
    // Of this time, not of the one before.
    await dialog.getByRole('status').filter({ hasText: '0 of 2 addresses' }).waitFor()
    release()
    const told = page.getByRole('dialog', { name: '1 account made' })
    await told.getByText('No link for:').waitFor()
    await told.getByText(/^lost@example.com: The console cannot be reached.* may have been made/).waitFor()
    await page.unroute('**/api/admin/accounts')
    await told.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'lost@example.com' }).waitFor()
  })

  guarantee('making many accounts is stopped midway, which says from where on none was tried', async () => {
    await page.goto('/admin/accounts')
    await page.getByRole('button', { name: 'Several accounts' }).click()
    const dialog = page.getByRole('dialog', { name: 'Several accounts' })
    await dialog.getByLabel('Your password').fill(OWNER.password)
    await dialog.getByLabel('Emails').fill('stop-1@example.com, stop-2@example.com, stop-3@example.com')
    const { route, release } = gate()
    await page.route('**/api/admin/accounts', async request => {
      await route
      await request.continue()
    })
    await dialog.getByRole('button', { name: 'Create accounts' }).click()
    await dialog.getByRole('button', { name: 'Stop after this one' }).click()
    release()
    const told = page.getByRole('dialog', { name: '1 account made' })
    await told.getByText('Stopped: 2 addresses left, from stop-2@example.com on.').waitFor()
    expect(await told.locator('pre').textContent()).toMatch(/^stop-1@example.com \S+$/)
    await told.getByRole('button', { name: 'Done' }).click()
    await page.unroute('**/api/admin/accounts')
  })

  guarantee('a request whose account is not there any more is shown by its number', async () => {
    const lost = { accountId: 4711, keyId: 4712 }
    await seedRequests(stage, { ...lost, count: 1, hours: 0 })
    await page.setViewportSize({ width: 320, height: 800 })
    await page.goto('/admin/traffic?account=4711')
    await page.getByText('account 4711, simulator, key 4712', { exact: true }).waitFor()
    await page.getByRole('table').getByRole('button', { name: 'receipt' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'account 4711', exact: true }).waitFor()
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  guarantee('for a receipt that is not there nobody is asked to try again', async () => {
    const other = await page.context().newPage()
    await other.clock.install()
    await other.goto('/requests?receipt=01a21790-0000-7000-8000-000000000000')
    const drawer = other.getByRole('dialog', { name: 'Receipt' })
    await drawer.waitFor()
    while ((await drawer.getByText('There is no such request').count()) === 0) await other.clock.runFor(700)
    expect(await drawer.getByRole('button', { name: 'Try again' }).count()).toBe(0)
    await other.close()
  })

  guarantee(
    'another account is another page, also where the browser skips what lay between them',
    async () => {
      const dialog = await openNewAccount(page)
      await dialog.getByLabel('Email').fill('unused@example.com')
      await dialog.getByLabel('Make a link').uncheck()
      await dialog.getByRole('button', { name: 'Create account' }).click()
      await page.getByRole('link', { name: 'Open it' }).click()
      await page.getByText('Nothing was asked with').waitFor()
      const accounts = page.getByRole('link', { name: 'Accounts', exact: true })
      await accounts.click()
      await page.getByRole('link', { name: OWNER.email }).click()
      await page.getByText('Show as a table').waitFor()
      await page.getByRole('button', { name: 'Credit', exact: true }).click()
      await page.getByRole('dialog', { name: 'Give credit' }).getByLabel('Amount').fill('7')
      await page.evaluate('history.go(-2)')
      await page.getByRole('heading', { name: 'unused@example.com' }).waitFor()
      await page.getByText('Nothing was asked with').waitFor()
      expect(await page.getByRole('dialog').count()).toBe(0)
    },
  )

  guarantee('a log that is asked for what is no choice of its filters shows that it is', async () => {
    await page.goto('/requests?key=987654&status=418')
    await page.getByText('No request matches', { exact: true }).waitFor()
    const chosen = (label: string) => page.getByLabel(label).locator('option:checked').textContent()
    expect([await chosen('Key'), await chosen('Status')]).toEqual(['987654', '418'])
  })

  guarantee('of two administrators the second is told, and what they typed stays', async () => {
    await page.goto(`/admin/accounts/${accountId}`)
    await page.getByRole('button', { name: 'Limits', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Limits' })
    await dialog.getByLabel('Requests at once').fill('7')
    await stage.database.sql`update account set requests_per_minute = 3 where id = ${accountId}`
    await dialog.getByRole('button', { name: 'Save limits' }).click()
    await dialog.getByRole('alert').getByText('Somebody else has changed this account').waitFor()
    expect(await dialog.getByLabel('Requests at once').inputValue()).toBe('7')
    await page.reload()
    await page.getByText('3 requests a minute').waitFor()
    await page.getByRole('button', { name: 'Limits', exact: true }).click()
    await dialog.getByLabel('Requests a minute').fill('')
    await dialog.getByRole('button', { name: 'Save limits' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  guarantee('two pages of one browser are always of one person', async () => {
    const other = await owner.context.newPage()
    await other.goto('/settings')
    await other.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
    await page.goto('/')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await other.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await other.close()
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password').fill(OWNER.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  })

  guarantee('what the browser does not let onto the clipboard is not said to be copied', async () => {
    await page.goto('/keys?new=yes')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('dialog', { name: 'Your new key' })
    await shown.waitFor()
    await page.evaluate(`
      navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
      document.execCommand = () => false`)
    await shown.getByRole('button', { name: 'Copy the key' }).click()
    await shown.getByText('Select it to copy').waitFor()
    expect(await shown.getByText('Copied', { exact: true }).count()).toBe(0)
    await shown.getByRole('button', { name: 'I have copied it' }).click()
  })

  guarantee('a moment of which only the day is typed is asked for, and not taken for none', async () => {
    await page.goto('/keys?new=yes')
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.getByLabel('Name', { exact: true }).fill('half a moment')
    await dialog.getByText('Narrow what it may do').click()
    await dialog.getByLabel('Expires').click()
    await page.keyboard.type('12')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.waitForFunction("document.activeElement.type === 'datetime-local'")
    const made = await stage.database.sql`select id from api_key where name = 'half a moment'`
    expect(made).toHaveLength(0)
    await page.keyboard.press('Escape')
  })

  guarantee('a wrong current password is said beside it, and not beside the new one', async () => {
    await page.goto('/settings')
    await page.getByLabel('Current password').fill('not the password')
    await page.getByLabel('New password').fill('a password that is new')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('The password is wrong').waitFor()
    expect(await page.getByLabel('Current password').getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByLabel('New password').getAttribute('aria-invalid')).toBeNull()
  })

  guarantee('what could not be done is said, also where only a button was pressed', async () => {
    await page.goto('/settings')
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
    await page.route('**/api/session', fail)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('out of order').waitFor()
    await page.unroute('**/api/session')
  })

  guarantee('once its only keys have expired, an account is shown again how one is made', async () => {
    const step = page.getByRole('listitem').filter({ hasText: 'Create a key' })
    await page.goto('/')
    await page.locator('.figure').first().waitFor()
    await stage.database.sql`update api_key set expires_at = now() - interval '1 s'`
    await page.reload()
    await step.waitFor()
    expect(await step.getByText('Done:').count()).toBe(0)
  })

  test('goes wrong nowhere', () => expect(owner.faults).toEqual([]))
})

async function openNewAccount(page: Page) {
  await page.goto('about:blank')
  await page.goto('/admin/accounts?new=yes')
  const dialog = page.getByRole('dialog', { name: 'New account' })
  await dialog.waitFor()
  return dialog
}

/** As the browser's button does, so many times; done once the page was told. */
async function goBack(page: Page, steps: number): Promise<void> {
  const before = await page.evaluate<number>('timesTold')
  await page.evaluate(`history.go(-${steps})`)
  await page.waitForFunction(`timesTold > ${before}`)
}

async function openCredit(page: Page, accountId: number) {
  await page.goto(`/admin/accounts/${accountId}`)
  await page.getByRole('button', { name: 'Credit', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Give credit' })
  await dialog.waitFor()
  return dialog
}

async function balanceOf({ database }: Stage, accountId: number): Promise<bigint> {
  const [row] = await database.sql<{ balance: bigint }[]>`
    select (credits - debits)::bigint as balance from wallet where account_id = ${accountId}`
  return BigInt(row?.balance ?? 0n)
}

function gate(): { route: Promise<void>; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { route: promise, release: resolve }
}

/** As the console answers when something is wrong with it. */
async function fail(route: Route): Promise<void> {
  const error = { code: 'internal_error', message: 'This is out of order' }
  await route.fulfill({ status: 500, json: { error } })
}

/** The console does what it is asked, and the answer is lost on its way. */
async function lose(route: Route): Promise<void> {
  await route.fetch()
  await route.abort()
}
