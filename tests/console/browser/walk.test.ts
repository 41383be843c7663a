import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { BROWSER_TIMEOUT_MS, HAS_BROWSER, type Visitor } from '#tests/support/browser.ts'
import { TOLD_WITHIN_MS } from '#tests/support/told-within.ts'
import { refuseCharge } from './furnish.ts'
import { inOrder } from './in-order.ts'
import { addModel, addSimulator, becomeOwner, createKey, OWNER, openStage, type Stage } from './stage.ts'

const CUSTOMER = { email: 'customer@example.com', password: 'quite another password' }

/** The whole life of a deployment and of one customer, in one order: each step stands on those before it. */
describe.skipIf(!HAS_BROWSER)('from the printed link to a paid answer, in a browser', () => {
  let stage: Stage
  let owner: Visitor
  let customer: Visitor
  let key = ''
  let requestId = ''
  let code = ''

  beforeAll(async () => {
    stage = await openStage()
    owner = await stage.visitor()
    customer = await stage.visitor()
  }, BROWSER_TIMEOUT_MS)
  afterAll(() => stage?.close(), BROWSER_TIMEOUT_MS)

  const step = inOrder(BROWSER_TIMEOUT_MS)

  step('the printed link makes the first administrator, once', async () => {
    await becomeOwner(owner, stage)
    await owner.page.getByRole('heading', { name: 'From here to your first answer', exact: true }).waitFor()
    await customer.page.goto(stage.firstLink)
    await customer.page.getByRole('heading', { name: 'This link does not work', exact: true }).waitFor()
  })

  step('a vendor is added with a key, and tested', async () => {
    await addSimulator(owner, stage)
    const dialog = owner.page.getByRole('dialog', { name: 'simulator is added' })
    await dialog.getByLabel('Model').fill('echo')
    await dialog.getByRole('button', { name: 'Test now' }).click()
    await dialog.getByText('Works', { exact: true }).waitFor()
    // The key itself is nowhere on the page any more.
    expect(await owner.page.content()).not.toContain('a-key-of-the-vendor-1234')
  })

  step('a model is offered at a price, and the checklist goes on', async () => {
    await addModel(owner, { id: 'acme/echo', there: 'echo', perRequest: '0.02' })
    // The words behind its prices stand as close as words do, and not as far as columns.
    const padding = await owner.page.evaluate(
      "getComputedStyle(document.querySelector('td .number .soft')).padding",
    )
    expect(padding).toBe('0px')
    await owner.page.goto('/')
    await owner.page.getByRole('link', { name: 'Create a key' }).first().waitFor()
  })

  step('an account is made, and its holder accepts the invitation', async () => {
    await owner.page.goto('/admin/accounts?new=yes')
    const dialog = owner.page.getByRole('dialog', { name: 'New account' })
    await dialog.getByLabel('Email').fill(CUSTOMER.email)
    await dialog.getByLabel('Credit in').fill('0.05')
    await dialog.getByLabel('Your password').fill(OWNER.password)
    await dialog.getByRole('button', { name: 'Create account' }).click()
    const link = (await owner.page.getByTestId('link').textContent()) ?? ''
    // What is shown once is left by the one button that says so.
    expect(await owner.page.getByRole('dialog').getByRole('link').count()).toBe(0)

    await customer.page.goto(link)
    await customer.page.getByLabel('Password').fill(CUSTOMER.password)
    await customer.page.getByRole('button', { name: 'Accept the invitation' }).click()
    await customer.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await customer.page.getByText('$0.05').first().waitFor()
    // An account holder sees nothing of the administration.
    expect(await customer.page.getByRole('navigation', { name: 'Administration' }).count()).toBe(0)
  })

  step(
    'of several addresses each is told what became of it, and those with an account get a link',
    async () => {
      await owner.page.goto('/admin/accounts')
      await owner.page.getByRole('button', { name: 'Several accounts' }).click()
      const dialog = owner.page.getByRole('dialog', { name: 'Several accounts' })
      await dialog.getByLabel('Emails').fill(`one@team.example\n${CUSTOMER.email}\nnobody\ntwo@team.example`)
      await dialog.getByLabel('Credit in').fill('0.07')
      await dialog.getByLabel('Your password').fill('not my password')
      await dialog.getByRole('button', { name: 'Create accounts' }).click()
      // What was typed is still there.
      await dialog.getByText('The password is wrong').waitFor()
      await dialog.getByLabel('Your password').fill(OWNER.password)
      await dialog.getByRole('button', { name: 'Create accounts' }).click()
      const told = owner.page.getByRole('dialog', { name: '2 accounts made' })
      await told.getByText(`${CUSTOMER.email}: There is an account with the e-mail address`).waitFor()
      await told.getByText('nobody: This is no email address').waitFor()
      const text = (await told.locator('pre').textContent()) ?? ''
      expect(text.split('\n').map(line => line.split(' ')[0])).toEqual([
        'one@team.example',
        'two@team.example',
      ])
      const guest = await stage.visitor()
      await guest.page.goto(text.split(' ').at(-1) ?? '')
      await guest.page.getByRole('button', { name: 'Accept the invitation' }).waitFor()
      await guest.context.close()
      await told.getByRole('button', { name: 'Done' }).click()
      await owner.page.getByRole('link', { name: 'one@team.example' }).waitFor()
      await owner.page.getByRole('cell').getByText('$0.07').first().waitFor()
    },
  )

  step('a key is made, shown once, and gets a streamed answer', async () => {
    key = await createKey(customer, 'laptop')
    expect(key).toMatch(/^sk-/)
    expect(await customer.page.content()).not.toContain(key)
  })

  step('the first request is on the first page, to be copied, until there was one', async () => {
    await customer.page.goto('/')
    const steps = customer.page.getByRole('region', { name: 'From here to your first answer' })
    const request = (await steps.locator('pre').textContent()) ?? ''
    expect(request).toContain(`${stage.server.apiUrl}/v1/chat/completions`)
    expect(request).toContain('Bearer YOUR_KEY')
    expect(request).toContain('"model":"acme/echo"')
    const answer = await stage.ask(key, 'acme/echo')
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('data: [DONE]')
    requestId = answer.id
  })

  step('how a key is used is to be found later as well, for each client with its address', async () => {
    const { page } = customer
    await page.goto('/keys')
    await page.getByRole('button', { name: 'Use a key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Use a key' })
    await dialog.getByRole('tab', { name: 'Anthropic SDK' }).click()
    const snippet = (await dialog.locator('pre').textContent()) ?? ''
    expect(snippet).toContain(`base_url="${stage.server.apiUrl}", api_key="YOUR_KEY"`)
    expect(snippet).toContain('model="acme/echo"')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  step('its receipt says what it cost, by the price that was set', async () => {
    await customer.page.goto(`/requests?receipt=${requestId}`)
    const receipt = customer.page.getByRole('dialog', { name: 'Receipt' })
    await receipt.getByTestId('charged').getByText('$0.02', { exact: true }).waitFor()
    await receipt.getByText('acme/echo').waitFor()
    await receipt.getByText('Complete').waitFor()
  })

  step('the chart of spending shows it', async () => {
    await customer.page.goto('/')
    await customer.page
      .getByRole('img', { name: /Spend over time/ })
      .locator('canvas')
      .waitFor()
    await customer.page.getByText('Show as a table').click()
    const table = customer.page.getByRole('region', { name: 'Spend as a table' })
    await table.getByText('acme/echo').waitFor()
    await table.getByText('$0.02').waitFor()
    // What is told exactly already is not told twice.
    const totals = customer.page.getByRole('region', { name: 'Usage', exact: true }).locator('dl')
    expect(await totals.getByText('$0.02', { exact: true }).count()).toBe(1)
    // And what has spent it leads to the requests behind the sum.
    await customer.page.getByRole('link', { name: 'acme/echo' }).click()
    await customer.page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    await customer.page.getByRole('button', { name: 'acme/echo' }).waitFor()
    expect(await customer.page.getByLabel('Model').inputValue()).toBe('acme/echo')
    expect(await customer.page.getByLabel('Time').inputValue()).toBe('days')
  })

  step('a request appears in the live log as it ends', async () => {
    await owner.page.goto('/admin/traffic')
    await owner.page.getByLabel(/^Live/).check()
    await owner.page.getByText('Live', { exact: true }).waitFor()
    const before = await owner.page.getByRole('button', { name: 'acme/echo' }).count()
    expect((await stage.ask(key, 'acme/echo')).status).toBe(200)
    await owner.page.getByRole('button', { name: 'acme/echo' }).nth(before).waitFor()
  })

  step('a code is redeemed, once', async () => {
    await owner.page.goto('/admin/redeem-codes')
    await owner.page.getByRole('button', { name: 'Make codes' }).first().click()
    const dialog = owner.page.getByRole('dialog', { name: 'Make redeem codes' })
    await dialog.getByLabel('Amount in').fill('0.02')
    await dialog.getByRole('button', { name: 'Make codes' }).click()
    code = (await owner.page.getByTestId('codes').locator('pre').textContent())?.trim() ?? ''

    await customer.page.goto('/billing')
    await customer.page.getByTestId('balance').getByText('$0.01').waitFor()
    await customer.page.getByLabel('Code', { exact: true }).fill(code)
    await customer.page.getByRole('button', { name: 'Redeem' }).click()
    await customer.page.getByTestId('balance').getByText('$0.03').waitFor()
    await customer.page.getByLabel('Code', { exact: true }).fill(code)
    await customer.page.getByRole('button', { name: 'Redeem' }).click()
    await customer.page.getByText('You have redeemed this code already.').waitFor()
  })

  step('a code that nobody used is taken back, and one that was used cannot be', async () => {
    await owner.page.goto('/admin/redeem-codes')
    await owner.page.getByText('Used up').waitFor()
    expect(await owner.page.getByRole('button', { name: /^Take back/ }).count()).toBe(0)
    await owner.page.getByRole('button', { name: 'Make codes' }).click()
    const dialog = owner.page.getByRole('dialog', { name: 'Make redeem codes' })
    await dialog.getByLabel('Amount in').fill('7')
    await dialog.getByRole('button', { name: 'Make codes' }).click()
    const other = (await owner.page.getByTestId('codes').locator('pre').textContent())?.trim() ?? ''
    await owner.page.getByRole('button', { name: 'I have copied them' }).click()
    await owner.page.getByRole('button', { name: /^Take back/ }).click()
    const asked = owner.page.getByRole('dialog', { name: 'Take this code back?' })
    await asked.getByRole('button', { name: 'Take back' }).click()
    await owner.page.getByRole('cell').getByText('Taken back').waitFor()

    await customer.page.getByLabel('Code', { exact: true }).fill(other)
    await customer.page.getByRole('button', { name: 'Redeem' }).click()
    await customer.page.getByText('This code was taken back by whoever gave it out.').waitFor()
  })

  step('without credit the answer is 402, and the page says so', async () => {
    const [paid, refused] = [await stage.ask(key, 'acme/echo'), await stage.ask(key, 'acme/echo')]
    expect([paid.status, refused.status]).toEqual([200, 402])
    for (const asked of [paid, refused]) await stage.stored(asked)
    await customer.page.goto('/requests?status=402')
    await customer.page.getByRole('cell').getByText('Refused').first().waitFor()
    // A cent is left.
    await customer.page.goto('/')
    await customer.page.getByRole('link', { name: 'they are refused with 402' }).click()
    await customer.page.getByRole('cell').getByText('Refused').first().waitFor()
    await customer.page.goto('/playground')
    await customer.page.getByRole('button', { name: 'Send' }).click()
    await customer.page
      .getByRole('status')
      .getByText(/^Ended after \d+ ms without an event$/)
      .waitFor()
  })

  step('topped up, it works again', async () => {
    await owner.page.goto('/admin/accounts')
    await owner.page.getByRole('link', { name: CUSTOMER.email }).click()
    await owner.page.getByRole('button', { name: 'Debit' }).click()
    await owner.page.getByText('A debit may be more than that').waitFor()
    await owner.page.getByRole('button', { name: 'Cancel' }).click()
    await owner.page.getByRole('button', { name: 'Credit' }).click()
    const dialog = owner.page.getByRole('dialog', { name: 'Give credit' })
    await dialog.getByText(`${CUSTOMER.email} has $0.01.`).waitFor()
    await dialog.getByRole('button', { name: 'Give credit' }).click()
    await dialog.getByText('An amount such as 5.00.').waitFor()
    // Enough for all that is asked until a change has reached the relay.
    await dialog.getByLabel('Amount').fill('100.00')
    await dialog.getByLabel('Reason').fill('paid by transfer')
    await dialog.getByLabel('Expires').fill('2020-01-31T12:00')
    await dialog.getByRole('button', { name: 'Give credit' }).click()
    await dialog.getByText('This time is over already').waitFor()
    await dialog.getByLabel('Expires').fill('2999-01-31T12:00')
    await dialog.getByRole('button', { name: 'Give credit' }).click()
    await owner.page.getByTestId('balance').getByText('$100.01').waitFor()
    expect((await stage.ask(key, 'acme/echo')).status).toBe(200)
    await customer.page.goto('/billing')
    await customer.page.getByText('paid by transfer').waitFor()
    await customer.page.getByText('of it until 31 Jan 2999').waitFor()
    await customer.page.getByText('until 31 Jan 2999, 12:00:00', { exact: true }).waitFor()
  })

  step('the playground streams words and events, and has the receipt', async () => {
    const { page } = customer
    await page.goto('/playground')
    for (const surface of ['Responses', 'Messages', 'Gemini', 'Chat']) {
      await page.getByText(surface, { exact: true }).click()
      await page.getByLabel('Message', { exact: true }).fill(`Hello on ${surface}`)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByTestId('answer').getByText(`Hello on ${surface}`).waitFor()
      await page.getByText(/events in/).waitFor()
    }
    await page.getByTestId('events').getByText('data: [DONE]').waitFor()
    await page.getByRole('button', { name: 'Show the receipt' }).click()
    await page.getByTestId('charged').getByText('$0.02', { exact: true }).waitFor()
  })

  step('the playground says what is missing, also in what is folded away', async () => {
    const { page } = customer
    await page.goto('/playground')
    await page.getByLabel('Message', { exact: true }).fill(' ')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('What is asked?').waitFor()
    await page.getByLabel('Message', { exact: true }).fill('Hello')
    await page.getByText('More', { exact: true }).click()
    await page.getByLabel('Most output tokens').fill('many')
    await page.getByText('More', { exact: true }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('A whole number above 0, or nothing.').waitFor()
    expect(await page.getByLabel('Most output tokens').evaluate('document.activeElement.value')).toBe('many')
    await page.getByLabel('Most output tokens').fill('')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByTestId('answer').getByText('Hello', { exact: true }).waitFor()
  })

  step('a receipt is printed alone, and dark on white', async () => {
    const { page } = customer
    await page.goto(`/requests?receipt=${requestId}`)
    const charged = page.getByTestId('charged')
    await charged.waitFor()
    await page.evaluate('document.documentElement.dataset.theme = "dark"')
    const colour = () => charged.evaluate('getComputedStyle(document.querySelector("dialog dd")).color')
    expect(await colour()).toBe('rgb(232, 236, 235)')
    await page.emulateMedia({ media: 'print' })
    expect(await colour()).toBe('rgb(22, 32, 31)')
    expect(await charged.isVisible()).toBe(true)
    expect(await page.getByRole('table', { name: 'Requests', includeHidden: true }).isVisible()).toBe(false)
    await page.emulateMedia({ media: 'screen' })
    await page.goto('/requests')
  })

  step('an administrator refunds a request, and the receipt says so to both', async () => {
    const { page } = owner
    await page.goto(`/admin/traffic?receipt=${requestId}`)
    const whose = page.getByRole('dialog', { name: 'Receipt' }).getByRole('link').first()
    const [account] = await stage.database.sql`select id from account where email = ${CUSTOMER.email}`
    expect(await whose.getAttribute('href')).toBe(`/admin/accounts/${account?.['id']}`)
    await page.getByRole('dialog', { name: 'Receipt' }).getByRole('link', { name: 'acme/echo' }).click()
    await page.getByRole('heading', { name: 'acme/echo', level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Refund' }).click()
    const dialog = page.getByRole('dialog', { name: 'Refund this request' })
    expect(await dialog.getByLabel('Amount').inputValue()).toBe('0.02')
    await dialog.getByLabel('Amount').fill('0.03')
    await dialog.getByLabel('Reason').fill('it was of no use')
    await dialog.getByRole('button', { name: 'Give refund' }).click()
    await dialog.getByRole('alert').getByText('did not cost').waitFor()
    await dialog.getByLabel('Amount').fill('0.015')
    await dialog.getByRole('button', { name: 'Give refund' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByTestId('charged').getByText('$0.005', { exact: true }).waitFor()
    await customer.page.goto('/billing')
    const entry = customer.page.getByRole('row', {
      name: /Request, refunded.*it was of no use.*\+\$0\.015/,
    })
    await entry.getByRole('link', { name: 'Receipt' }).click()
    const receipt = customer.page.getByRole('dialog', { name: 'Receipt' })
    await receipt.getByTestId('charged').getByText('$0.005', { exact: true }).waitFor()
    await receipt.getByText('Request, refunded', { exact: true }).waitFor()
    await customer.page.keyboard.press('Escape')
    await receipt.waitFor({ state: 'detached' })
    expect(new URL(customer.page.url()).pathname).toBe('/billing')
    expect(await entry.getByRole('link').evaluate('document.activeElement.textContent')).toStartWith(
      'Receipt of',
    )
  })

  step(
    'entries are narrowed to a time, also by an administrator, and what was typed is in the address',
    async () => {
      const [account] = await stage.database.sql`select id from account where email = ${CUSTOMER.email}`
      for (const [{ page }, path] of [
        [customer, '/billing'],
        [owner, `/admin/accounts/${account?.['id']}`],
      ] as const) {
        await page.goto(path)
        const entries = page.getByRole('table', { name: 'Entries' })
        await entries.getByText('it was of no use').waitFor()
        const filter = page.getByRole('search', { name: 'Filter entries' })
        await filter.getByLabel('Time').selectOption('Dates')
        await filter.getByLabel('First day').fill('2020-01-01')
        await filter.getByLabel('Last day').fill('2020-01-31')
        await page.getByText('No such entry').waitFor()
        await page.reload()
        await page.getByText('No such entry').waitFor()
        await filter.getByLabel('Time').selectOption('Last hour')
        await entries.getByText('it was of no use').waitFor()
      }
    },
  )

  step('the receipt of a request that was refused says why in words', async () => {
    const { id, text } = await stage.ask(key, 'acme/unknown')
    await stage.stored({ id })
    // The whole message that somebody has is pasted to find it.
    await owner.page.goto('/admin/traffic')
    await owner.page.getByLabel('Request id').fill(text)
    await owner.page.getByTitle(/^There is no such model/).waitFor()
    await owner.page.getByRole('button', { name: 'Unknown model' }).click()
    const receipt = owner.page.getByRole('dialog', { name: 'Receipt' })
    await receipt.getByText(id, { exact: true }).waitFor()
    await receipt.getByText('There is no such model, or the account or the key does not reach it.').waitFor()
    const nobodys = await stage.ask(`${key}x`, 'acme/echo')
    expect(nobodys.status).toBe(401)
    await owner.page.goto('/admin/traffic')
    await owner.page.getByLabel('Request id').fill(nobodys.text)
    await owner.page
      .getByText(
        /In no request log are requests without a good key.* The gateway's own log has all but the last by/,
      )
      .waitFor()
  })

  step('an administrator limits a key of somebody else, which is refused beyond that', async () => {
    const { page } = owner
    await page.goto('/admin/accounts')
    await page.getByRole('link', { name: CUSTOMER.email }).click()
    await page.getByRole('button', { name: 'Limit laptop' }).click()
    const dialog = page.getByRole('dialog', { name: 'Limits of laptop' })
    await dialog.getByLabel('Requests a minute').fill('1')
    await dialog.getByRole('button', { name: 'Save limits' }).click()
    await dialog.waitFor({ state: 'detached' })
    await becomes(() => stage.ask(key, 'acme/echo'), 429)
    await page.getByRole('button', { name: 'Limit laptop' }).click()
    expect(await dialog.getByLabel('Requests a minute').inputValue()).toBe('1')
    await dialog.getByLabel('Requests a minute').fill('')
    await dialog.getByRole('button', { name: 'Save limits' }).click()
    await dialog.waitFor({ state: 'detached' })
    // Until it is stored the balance may be that of before.
    await stage.stored(await becomes(() => stage.ask(key, 'acme/echo'), 200))
  })

  step('an administrator prints a month of somebody else, which ends with what they have', async () => {
    const { page } = owner
    await page.reload()
    const exact = await page.getByTestId('balance').locator('[title]').getAttribute('title')
    const [print] = await Promise.all([
      owner.context.waitForEvent('page'),
      page.getByRole('link', { name: /^Print the statement/ }).click(),
    ])
    await print.getByText(CUSTOMER.email).waitFor()
    const last = print.getByRole('row').filter({ hasText: 'Balance at the end' })
    // It has as many decimals as the amounts beside it need.
    const printed = (await last.getByRole('cell').last().textContent()) ?? ''
    expect(`${printed.padEnd((exact ?? '').length - ' USD'.length, '0')} USD`).toBe(exact ?? '')
    await print.close()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: /^CSV/ }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/^entries-\d{4}-\d{2}\.csv$/)
  })

  step('a key that was used leads to its requests, for whose it is and for an administrator', async () => {
    const account = new URL(owner.page.url()).pathname
    for (const { page, at } of [
      { page: customer.page, at: '/keys' },
      { page: owner.page, at: account },
    ]) {
      const link = page.getByRole('link', { name: /, requests of laptop$/ })
      // That it was used is noted some seconds later.
      const isThere = async () => {
        await page.goto(at)
        await page.getByRole('cell', { name: 'laptop' }).first().waitFor()
        return { status: await link.count() }
      }
      await becomes(isThere, 1)
      await link.click()
      await page.getByRole('table', { name: 'Requests' }).getByRole('button').first().waitFor()
      expect(await page.getByRole('combobox', { name: 'Key' }).inputValue()).toMatch(/^\d+$/)
    }
    await owner.page.goto(account)
  })

  step('to what a key is narrowed can be read by whose it is and by an administrator', async () => {
    const { page } = customer
    await page.goto('/keys?new=yes')
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.getByLabel('Name', { exact: true }).fill('narrow')
    await dialog.getByText('Narrow what it may do').click()
    await dialog.getByLabel('Allowed addresses').fill('127.0.0.1, 2001:db8::/32')
    await dialog.getByLabel('Requests at once').fill('1')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await owner.page.reload()
    for (const reader of [page, owner.page]) {
      const row = reader.getByRole('row').filter({ hasText: 'narrow' })
      await row.getByText('All models, 2 addresses, limits').click()
      await row.getByText('From 127.0.0.1, 2001:db8::/32', { exact: true }).waitFor()
      await row.getByText('1 request at once; else the defaults', { exact: true }).waitFor()
    }
    await page.getByRole('button', { name: 'Revoke narrow' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByRole('row').filter({ hasText: 'narrow' }).getByText('Revoked').waitFor()
  })

  step('a key that has expired says so, also before it is revoked', async () => {
    const { page } = customer
    await createKey(customer, 'for a day')
    await stage.database
      .sql`update api_key set expires_at = now() - interval '1 hour' where name = 'for a day'`
    await owner.page.reload()
    await page.reload()
    for (const reader of [page, owner.page]) {
      const row = reader.getByRole('row').filter({ hasText: 'for a day' })
      await row.getByText('Expired', { exact: true }).waitFor()
      await row.getByRole('button', { name: 'Revoke for a day' }).click()
      const dialog = reader.getByRole('dialog', { name: 'Revoke this key?' })
      await dialog.getByText('for a day has expired: it is refused already.').waitFor()
      await dialog.getByRole('button', { name: reader === page ? 'Cancel' : 'Revoke key' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await owner.page.getByRole('row').filter({ hasText: 'for a day' }).getByText('Revoked').waitFor()
  })

  step('a revoked key stops', async () => {
    await customer.page.goto('/keys')
    await customer.page.getByRole('button', { name: 'Revoke laptop' }).click()
    await customer.page.getByRole('button', { name: 'Revoke key' }).click()
    const row = customer.page.getByRole('row').filter({ hasText: 'laptop' })
    await row.getByText('Revoked').waitFor()
    const status = customer.page.getByRole('combobox', { name: 'Status' })
    await status.selectOption('Not revoked')
    await row.waitFor({ state: 'detached' })
    await status.selectOption('Revoked')
    await row.waitFor()
    await becomes(() => stage.ask(key, 'acme/echo'), 401)
  })

  step('a suspended account stops, and goes on when it is resumed', async () => {
    const second = await createKey(customer, 'second')
    expect((await stage.ask(second, 'acme/echo')).status).toBe(200)
    await owner.page.getByRole('button', { name: 'Suspend' }).click()
    await owner.page.getByLabel('Reason').fill('a test')
    await owner.page.getByRole('button', { name: 'Suspend account' }).click()
    await owner.page.getByRole('button', { name: 'Resume' }).waitFor()
    await becomes(() => stage.ask(second, 'acme/echo'), 403)
    await owner.page.getByRole('button', { name: 'Resume' }).click()
    await owner.page.getByLabel('Reason').fill('it passed')
    await owner.page.getByRole('button', { name: 'Resume account' }).click()
    await owner.page.getByRole('button', { name: 'Suspend' }).waitFor()
    await becomes(() => stage.ask(second, 'acme/echo'), 200)
  })

  step('a key that leaked leads to whose it is, and its rest is in no address', async () => {
    const leaked = await createKey(customer, 'leaked')
    const { page } = owner
    await page.goto('/admin/accounts')
    await page.getByLabel('Search').fill(`it was on a page: ${leaked}`)
    await page.getByText('No account matches').waitFor()
    await page.getByLabel('Search').fill(leaked)
    await page.getByRole('link', { name: CUSTOMER.email }).click()
    await page.getByRole('button', { name: 'Revoke leaked' }).waitFor()
    expect(await page.getByRole('table', { name: 'Keys' }).getByRole('row').count()).toBe(2)
    expect(new URL(page.url()).searchParams.get('keys')).toBe(leaked.slice(0, 11))
    await page.getByRole('button', { name: 'Revoke leaked' }).click()
    await page.getByRole('dialog').getByText(leaked.slice(0, 11)).waitFor()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByRole('cell').getByText('Revoked').waitFor()
    await becomes(() => stage.ask(leaked, 'acme/echo'), 401)
  })

  step('every act of the administrator is in the audit log', async () => {
    await owner.page.goto('/admin/log')
    for (const action of ['account.suspend', 'account.resume', 'account.credit']) {
      await owner.page.getByText(action, { exact: true }).first().waitFor()
    }
    // A part of a name is enough, and what is not found is not said to be nowhere.
    await owner.page.getByLabel('Act', { exact: true }).fill('Suspend')
    await owner.page.getByText('account.resume', { exact: true }).first().waitFor({ state: 'detached' })
    await owner.page.getByText('account.suspend', { exact: true }).first().waitFor()
    await owner.page.getByLabel('Done to').fill('nobody')
    await owner.page.getByText('No act matches').waitFor()
    expect(await owner.page.getByText('Nothing is recorded').count()).toBe(0)
    // Nor is it by who acted, and when.
    await owner.page.getByLabel('Done to').fill('')
    await owner.page.getByLabel('By', { exact: true }).fill(OWNER.email.toUpperCase())
    await owner.page.getByText('account.suspend', { exact: true }).first().waitFor()
    await owner.page.getByLabel('Time', { exact: true }).selectOption('Dates')
    await owner.page.getByLabel('First day').fill('2020-01-01')
    await owner.page.getByText('account.suspend', { exact: true }).first().waitFor()
    await owner.page.getByLabel('Last day').fill('2020-01-31')
    await owner.page.getByText('No act matches').waitFor()
  })

  step(
    'a charge that the database refuses is told beside the audits, with the reason and its receipt',
    async () => {
      const { page } = owner
      await refuseCharge(stage, requestId, 'an accident of the disk')
      await page.goto('/admin/audit')
      const row = page.getByRole('table', { name: 'Refused charges' }).getByRole('row').nth(1)
      await row.getByText('an accident of the disk').waitFor()
      await row.getByText('$9,223,372,036.854775808').waitFor()
      await row.getByRole('link', { name: requestId }).click()
      await page.getByRole('dialog', { name: 'Receipt' }).getByText(requestId).waitFor()
    },
  )

  step('new prices show what they change before they do', async () => {
    await owner.page.goto('/admin/models')
    await owner.page.getByRole('link', { name: 'acme/echo' }).click()
    await owner.page.getByRole('button', { name: 'Change prices' }).click()
    await owner.page.getByText('More prices').click()
    await owner.page.getByLabel('Each request').fill('0.20')
    await owner.page.getByRole('button', { name: 'Preview' }).click()
    await owner.page.getByText('more than a factor of two').waitFor()
    await owner.page.getByText(/^\d+ requests of the last 30 days cost/).waitFor()
    await owner.page.getByRole('button', { name: 'Change prices' }).last().click()
    // The dialog says it as well: the page has read the model anew once it does.
    await owner.page.getByRole('dialog').waitFor({ state: 'detached' })
    await owner.page.getByText('$0.20').first().waitFor()
    // What an old version charged for is told in full, also where it differs in what the short price leaves out.
    const versions = owner.page.getByRole('table', { name: 'Price versions' })
    expect(await versions.getByText('$0.02', { exact: true }).isVisible()).toBe(false)
    await versions.locator('summary').last().click()
    await versions.getByText('$0.02', { exact: true }).waitFor()
  })

  step('prices are planned for a day to come, stay through an edit, and are taken back', async () => {
    const { page } = owner
    await page.getByRole('button', { name: 'Change prices' }).click()
    await page.getByText('More prices').click()
    await page.getByLabel('Each request').fill('0.30')
    await page.getByRole('dialog').getByLabel('From').fill('2999-12-31')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('button', { name: 'Plan the change' }).click()
    await page.getByText('The change is planned').waitFor()
    const planned = { name: 'From 2999-12-31, 00:00 UTC', exact: true } as const
    await page.getByRole('heading', planned).waitFor()
    // Whoever pays is told before it holds.
    await customer.page.goto('/models')
    await customer.page.getByRole('heading', planned).waitFor()
    await customer.page.getByText('$0.30').waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('button', { name: 'Save model' }).click()
    await page.getByText('The model is changed').waitFor()
    await page.getByText('$0.30').first().waitFor()
    await page.getByRole('button', { name: 'Take back' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click()
    await page.getByRole('heading', planned).waitFor({ state: 'detached' })
    await page.getByText('$0.20').first().waitFor()
  })

  step('signing out ends the session, and the way back leads to where one was', async () => {
    const { page } = customer
    await page.goto('/keys')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await page.goto('/billing')
    await page.getByLabel('Email').fill(CUSTOMER.email)
    await page.getByLabel('Password').fill('a wrong password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText(/./).first().waitFor()
    await page.getByLabel('Password').fill(CUSTOMER.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Billing', exact: true }).waitFor()
  })

  step('nothing went wrong in any page, and nobody else was called', async () => {
    expect(owner.faults).toEqual([])
    expect(customer.faults).toEqual([])
  })
})

/** A change reaches the relay by notification, a moment after the page says that it is done. */
async function becomes<Answer extends { status: number }>(
  ask: () => Promise<Answer>,
  status: number,
): Promise<Answer> {
  const deadline = performance.now() + TOLD_WITHIN_MS
  for (;;) {
    const answer = await ask()
    if (answer.status === status) return answer
    if (performance.now() > deadline) throw new Error(`still ${answer.status}, not ${status}`)
    await Bun.sleep(50)
  }
}
