import { accountStore } from '@/accounts/store.ts'
import { type Console, entryOf } from '../deployment.ts'
import { notFound } from '../failure.ts'
import { readDate } from '../moments.ts'
import { cursorOf, cursorRequest, readPage } from '../paging.ts'
import { loadReceipt, receiptRow } from '../requests/receipt.ts'
import { downloadLog } from '../requests/request-csv.ts'
import { type LogQuery, lineOf, momentOf, NO_NAMES, namesOf, readLog } from '../requests/request-log.ts'
import { isStillSignedIn, type SignedIn } from '../sign-in/sessions.ts'
import { type Receipt, type RequestPage, requestRoutes } from './contract/requests.ts'
import type { Input } from './contract/route.ts'
import { controller, type Incoming, type Listener } from './controller.ts'
import { eventStream } from './event-stream.ts'

/** What a log is asked for. */
type LogParameters = Input<(typeof requestRoutes)['GET /api/requests']>['query']

interface LogCall {
  signedIn: SignedIn
  query: LogParameters
}

/** Whose requests are shown, and what of them. */
interface LogView {
  /** Undefined: of all accounts. */
  accountId: number | undefined
  channel?: string | undefined
  showsChannel: boolean
  showsAccount: boolean
}

/** An account holder's requests. */
export function requestsApi(console: Console, listener: Listener) {
  const viewOf = async ({ user }: SignedIn): Promise<LogView> => {
    const { showChannels } = await entryOf(console)
    return { accountId: user.accountId, showsChannel: showChannels, showsAccount: false }
  }
  return controller('console-requests', console, listener, requestRoutes, {
    'GET /api/requests': async call => logPage(console, call, await viewOf(call.signedIn)),
    'GET /api/requests.csv': async call => logFile(console, call, await viewOf(call.signedIn)),
    'GET /api/requests/:id': async ({ signedIn, params }) =>
      oneReceipt(console, params.id, await viewOf(signedIn)),
    'GET /api/live/requests': async call => tailOf(console, call, await viewOf(call.signedIn)),
  })
}

/** A page of the log. */
export async function logPage(
  { database, lookups }: Console,
  { signedIn, query }: LogCall,
  view: LogView,
): Promise<RequestPage> {
  let reached: string | undefined
  const read = async (limit: number) => {
    const conditions = { ...conditionsOf(query, view), limit }
    const part = await lookups.pass(signedIn.user.accountId, () => readLog(database.orm, conditions))
    reached = part.reached
    return part.rows
  }
  const { rows, next } = await readPage(query, read, cursorOf)
  const names = await namesOf(database.orm, rows, view)
  const items = rows.map(row => lineOf(row, names, view.showsChannel))
  if (next !== null || reached === undefined) return { items, next, searched_to: null }
  return { items, next: reached, searched_to: momentOf(reached).toISOString() }
}

/** All of the log under these conditions, as a file. */
export function logFile(console: Console, { signedIn, query }: LogCall, view: LogView): Promise<Response> {
  const { database, lookups, catalog } = console
  const where = { database, lookups, currency: catalog.defaults().currency }
  return downloadLog(where, signedIn.user.accountId, conditionsOf(query, view), view.showsChannel)
}

function conditionsOf(query: LogParameters, { accountId, channel }: LogView): Omit<LogQuery, 'limit'> {
  return {
    accountId,
    channel,
    before: cursorRequest(query),
    model: query.model,
    keyId: query.key_id,
    status: query.status,
    endState: query.end_state,
    idPrefix: query.id,
    from: readDate(query.from, 'from'),
    to: readDate(query.to, 'to'),
  }
}

/** @throws ConsoleError `not_found`; with an account, also for a request of another one */
export async function oneReceipt(
  { database }: Console,
  requestId: string,
  { accountId, showsChannel, showsAccount }: LogView,
): Promise<Receipt> {
  const id = requestId.toLowerCase()
  const receipt = await loadReceipt(database, id)
  if (receipt === undefined || (accountId !== undefined && receipt.accountId !== accountId)) {
    throw notFound('request')
  }
  const { exchange } = receipt
  const shown = exchange === undefined ? [] : [exchange]
  const { keys } = await namesOf(database.orm, shown, { showsAccount: false })
  const keyName = exchange === undefined ? null : (keys.get(exchange.keyId) ?? null)
  // One that is running, or whose process died, has no result to find a name by.
  const emails = await accountStore(database).findEmails(showsAccount ? [receipt.accountId] : [])
  const accountEmail = emails.get(receipt.accountId) ?? null
  return receiptRow(id, receipt, { keyName, accountEmail, channel: showsChannel })
}

/** The requests of an account, or of all, as they end: for as long as whoever watches may see them. */
export function tailOf(
  console: Console,
  { request, signedIn }: Incoming<SignedIn>,
  { accountId, showsChannel, showsAccount }: LogView,
): Response {
  const { clock, database, tail, log } = console
  const least = accountId === undefined ? 'read_only' : null
  return eventStream(clock, request.signal, sink =>
    tail.listen(signedIn.user.accountId, async rows => {
      const own = accountId === undefined ? rows : rows.filter(row => row.accountId === accountId)
      if (own.length === 0) return
      const mayStill = await isStillSignedIn(console, request, least).catch(error => {
        log.warn({ err: error }, 'a session could not be read')
        return false
      })
      if (!mayStill) return sink.end()
      const names = await namesOf(database.orm, own, { showsAccount }).catch(error => {
        log.warn({ err: error }, 'the names of keys and accounts could not be read')
        return NO_NAMES
      })
      for (const row of own) sink.send('request', lineOf(row, names, showsChannel))
    }),
  )
}
