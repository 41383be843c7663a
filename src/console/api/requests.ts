import { type Console, entryOf } from '../deployment.ts'
import { eventStream } from '../event-stream.ts'
import { notFound } from '../failure.ts'
import { readMoment } from '../moments.ts'
import { cursorOf, cursorRequest, readPage } from '../paging.ts'
import { loadReceipt, receiptRow } from '../receipt.ts'
import { downloadLog } from '../request-csv.ts'
import { keyNamesOf, type LogQuery, lineOf, momentOf, readLog } from '../request-log.ts'
import { isStillSignedIn, type SignedIn } from '../sessions.ts'
import { type Receipt, type RequestPage, requestRoutes } from './contract/requests.ts'
import type { EndFilter } from './contract/words.ts'
import { controller, type Incoming, type Listener } from './controller.ts'

/** What the filters of a request log are called in a query. */
interface LogParameters {
  cursor?: string
  limit?: number
  model?: string
  key_id?: number
  status?: string
  end_state?: EndFilter
  id?: string
  from?: string
  to?: string
}

/** An account holder's requests. */
export function requestsApi(console: Console, listener: Listener) {
  return controller('console-requests', console, listener, requestRoutes, {
    'GET /api/requests': async ({ signedIn, query }) => {
      const { showChannels } = await entryOf(console)
      return logPage(console, query, { accountId: signedIn.user.accountId }, showChannels)
    },
    'GET /api/requests.csv': async ({ signedIn, query }) => {
      const { showChannels } = await entryOf(console)
      return logFile(console, query, { accountId: signedIn.user.accountId }, showChannels)
    },
    'GET /api/requests/:id': async ({ signedIn, params }) => {
      const { showChannels } = await entryOf(console)
      return oneReceipt(console, params.id, signedIn.user.accountId, showChannels)
    },
    'GET /api/live/requests': async call => {
      const { showChannels } = await entryOf(console)
      return tailOf(console, call, call.signedIn.user.accountId, showChannels)
    },
  })
}

/** A page of the log. */
export async function logPage(
  { database }: Console,
  query: LogParameters,
  scope: Pick<LogQuery, 'accountId' | 'channel'>,
  showsChannel: boolean,
): Promise<RequestPage> {
  let reached: string | undefined
  const read = async (limit: number) => {
    const part = await readLog(database.orm, { ...conditionsOf(query, scope), limit })
    reached = part.reached
    return part.rows
  }
  const { rows, next } = await readPage(query, read, cursorOf)
  const names = await keyNamesOf(database.orm, rows)
  const items = rows.map(row => lineOf(row, names, showsChannel))
  if (next !== null || reached === undefined) return { items, next, searched_to: null }
  return { items, next: reached, searched_to: momentOf(reached).toISOString() }
}

/** All of the log under these conditions, as a file. */
export function logFile(
  { database }: Console,
  query: LogParameters,
  scope: Pick<LogQuery, 'accountId' | 'channel'>,
  showsChannel: boolean,
): Response {
  return downloadLog(database.orm, conditionsOf(query, scope), showsChannel)
}

function conditionsOf(
  query: LogParameters,
  scope: Pick<LogQuery, 'accountId' | 'channel'>,
): Omit<LogQuery, 'limit'> {
  return {
    ...scope,
    before: cursorRequest(query),
    model: query.model,
    keyId: query.key_id,
    status: query.status,
    endState: query.end_state,
    idPrefix: query.id,
    from: dateOf(query.from, 'from'),
    to: dateOf(query.to, 'to'),
  }
}

/** @throws ConsoleError `not_found`; with an account, also for a request of another one */
export async function oneReceipt(
  { database }: Console,
  requestId: string,
  accountId: number | undefined,
  showsChannel: boolean,
): Promise<Receipt> {
  const id = requestId.toLowerCase()
  const receipt = await loadReceipt(database, id)
  if (receipt === undefined || (accountId !== undefined && receipt.accountId !== accountId)) {
    throw notFound('request')
  }
  const { exchange } = receipt
  const names = await keyNamesOf(database.orm, exchange === undefined ? [] : [exchange])
  const keyName = exchange === undefined ? null : (names.get(exchange.keyId) ?? null)
  return receiptRow(id, receipt, { keyName, channel: showsChannel })
}

/** The requests of an account, or of all, as they end: for as long as whoever watches may see them. */
export function tailOf(
  console: Console,
  { request }: Incoming<SignedIn>,
  accountId: number | undefined,
  showsChannel: boolean,
): Response {
  const { clock, database, tail, log } = console
  const least = accountId === undefined ? 'read_only' : null
  return eventStream(clock, request.signal, sink =>
    tail.listen(async rows => {
      const own = accountId === undefined ? rows : rows.filter(row => row.accountId === accountId)
      if (own.length === 0) return
      const mayStill = await isStillSignedIn(console, request, least).catch(error => {
        log.warn({ err: error }, 'a session could not be read')
        return false
      })
      if (!mayStill) return sink.end()
      const names = await keyNamesOf(database.orm, own).catch(error => {
        log.warn({ err: error }, 'the names of keys could not be read')
        return new Map<number, string>()
      })
      for (const row of own) sink.send('request', lineOf(row, names, showsChannel))
    }),
  )
}

function dateOf(text: string | undefined, field: string): Date | undefined {
  return text === undefined ? undefined : new Date(readMoment(text, field))
}
