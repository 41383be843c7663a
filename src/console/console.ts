import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { ConfigFileError } from '@/config/file.ts'
import { isAway } from '@/db/sql-error.ts'
import { Refusal } from '@/errors/refusal.ts'
import { callerAddress } from '@/net/caller-address.ts'
import { adminAccountsApi } from './api/admin-accounts.ts'
import { adminChannelsApi } from './api/admin-channels.ts'
import { adminKeysApi } from './api/admin-keys.ts'
import { adminLedgerApi } from './api/admin-ledger.ts'
import { adminLinksApi } from './api/admin-links.ts'
import { adminModelsApi } from './api/admin-models.ts'
import { adminRequestsApi } from './api/admin-requests.ts'
import { adminUsersApi } from './api/admin-users.ts'
import { billingApi } from './api/billing.ts'
import type { Listener } from './api/controller.ts'
import { keysApi } from './api/keys.ts'
import { linksApi } from './api/links.ts'
import { meApi } from './api/me.ts'
import { modelsApi } from './api/models.ts'
import { requestsApi } from './api/requests.ts'
import { sessionApi } from './api/session.ts'
import { usageApi } from './api/usage.ts'
import { serveAsset } from './assets.ts'
import type { Bundle } from './bundle.ts'
import type { Console } from './deployment.ts'
import { ConsoleError, failurePage, failureResponse } from './failure.ts'

/** The console's app: its API, and a JSON 404 for all else. */
export function createConsoleApi(console: Console, listener: Listener) {
  return new Elysia({ name: 'console', handler: { standardHostname: false }, normalize: false })
    .onError(({ error, code, request }) => {
      const failure = consoleErrorOf(console, error, code)
      const isPerson = request.headers.get('sec-fetch-dest') === 'document'
      return isPerson ? failurePage(failure) : failureResponse(failure)
    })
    .use(sessionApi(console, listener))
    .use(linksApi(console, listener))
    .use(meApi(console, listener))
    .use(keysApi(console, listener))
    .use(usageApi(console, listener))
    .use(requestsApi(console, listener))
    .use(billingApi(console, listener))
    .use(modelsApi(console, listener))
    .use(adminAccountsApi(console, listener))
    .use(adminKeysApi(console, listener))
    .use(adminRequestsApi(console, listener))
    .use(adminUsersApi(console, listener))
    .use(adminLinksApi(console, listener))
    .use(adminChannelsApi(console, listener))
    .use(adminModelsApi(console, listener))
    .use(adminLedgerApi(console, listener))
}

/** The console as it listens. */
export interface ConsoleServer {
  url: URL
  stop(): Promise<void>
}

/** The time of a body of the largest size, and of silence between two requests. Bun's own most is 255. */
const IDLE_S = 120
const MAX_BODY_BYTES = 16 * 1024 * 1024

/** Listens. Port 0 takes any free one. The pages may still be in the making. */
export function serveConsole(
  console: Console,
  bundle: Promise<Bundle>,
  address: { hostname: string; port: number; trustedProxies: readonly string[]; idleS?: number },
): ConsoleServer {
  let server: Server<undefined> | undefined
  const idleS = address.idleS ?? IDLE_S
  const api = createConsoleApi(console, {
    addressOf: request =>
      callerAddress(server?.requestIP(request)?.address, request.headers, address.trustedProxies),
    // A model thinks, an audit counts and a live log is silent for longer than a connection may be idle.
    takesTime: request => server?.timeout(request, 0),
  })
  server = Bun.serve({
    hostname: address.hostname,
    port: address.port,
    reusePort: false,
    idleTimeout: idleS,
    maxRequestBodySize: MAX_BODY_BYTES,
    // Its page of an error shows source code.
    development: false,
    error: error => failureResponse(consoleErrorOf(console, error, undefined)),
    async fetch(request, serving) {
      if (!URL.canParse(request.url)) return withHeaders(failureResponse(misdirected()), console)
      const { pathname } = new URL(request.url)
      const response = pathname.startsWith('/api/')
        ? unkept(await api.fetch(request))
        : ((await pageOf(bundle, request, pathname)) ?? (await api.fetch(request)))
      if (isJson(response)) serving.timeout(request, idleS)
      return withHeaders(response, console)
    },
  })
  return {
    url: server.url,
    async stop() {
      console.tail.close()
      console.throttle.close()
      await server?.stop(true)
    },
  }
}

/** Undefined: no page and no file of one. Why pages could not be built, the log says. */
async function pageOf(
  bundle: Promise<Bundle>,
  request: Request,
  pathname: string,
): Promise<Response | undefined> {
  const pages = await bundle.catch(() => undefined)
  if (pages !== undefined) return serveAsset(pages, request, pathname)
  return failureResponse(new ConsoleError('unavailable', 'The pages could not be built; the log knows more'))
}

/** Streams and files may flow for longer than a connection may be idle. */
function isJson({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/json') === true
}

/** Only what comes from here, and nothing in a frame. The charts set styles of elements by script, which needs no word here. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** An answer of the API, which no cache keeps. */
function unkept(response: Response): Response {
  const { headers } = response
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  return response
}

/** What every answer carries, whatever it is. A page with a stricter policy of its own keeps it. */
function withHeaders(response: Response, { publicUrl }: Console): Response {
  const { headers } = response
  if (!headers.has('content-security-policy')) headers.set('content-security-policy', POLICY)
  headers.set('x-content-type-options', 'nosniff')
  headers.set('x-frame-options', 'DENY')
  headers.set('referrer-policy', 'no-referrer')
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('cross-origin-resource-policy', 'same-origin')
  if (publicUrl().startsWith('https:')) headers.set('strict-transport-security', 'max-age=31536000')
  return response
}

function misdirected(): ConsoleError {
  return new ConsoleError('invalid_request', 'The Host header is missing or is no host')
}

/** What failed, in words that may be shown; the rest goes to the log. */
function consoleErrorOf(console: Console, error: unknown, code: unknown): ConsoleError {
  if (error instanceof ConsoleError) return error
  if (error instanceof Refusal) return new ConsoleError('refused', error.message, { cause: error })
  if (error instanceof ConfigFileError) {
    return new ConsoleError('invalid_request', error.lines[0] ?? error.message, { cause: error })
  }
  if (code === 'NOT_FOUND') return new ConsoleError('not_found', 'Nothing is served at this path')
  if (isAway(error)) {
    console.log.warn({ err: error }, 'the database did not answer the console')
    const message = 'The database does not answer, try again in a moment'
    return new ConsoleError('unavailable', message, { retryAfterMs: 1_000, cause: error })
  }
  console.log.error({ err: error }, 'the console failed')
  return new ConsoleError('internal_error', 'Something went wrong here; the log knows more', { cause: error })
}
