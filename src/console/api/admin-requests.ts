import type { Console } from '../deployment.ts'
import { refundRequest } from '../money/refund.ts'
import { adminRequestRoutes } from './contract/admin-accounts.ts'
import { actorOf, controller, type Listener } from './controller.ts'
import { logFile, logPage, oneReceipt, tailOf } from './requests.ts'
import { usageFile, usageOf } from './usage.ts'

/** The requests of all accounts, and what they used. */
export function adminRequestsApi(console: Console, listener: Listener) {
  return controller('console-admin-requests', console, listener, adminRequestRoutes, {
    'GET /api/admin/usage': call => usageOf(console, call, call.query.account_id),
    'GET /api/admin/usage.csv': call => usageFile(console, call, call.query.account_id),
    'GET /api/admin/requests': call => logPage(console, call, viewOf(call.query)),
    'GET /api/admin/requests.csv': call => logFile(console, call, viewOf(call.query)),
    'GET /api/admin/requests/:id': ({ params }) => oneReceipt(console, params.id, viewOf({})),
    'POST /api/admin/requests/:id/refund': ({ params, body, ...call }) =>
      refundRequest(console, actorOf(call), { ...body, requestId: params.id }),
    'GET /api/admin/live/requests': async call => tailOf(console, call, viewOf({})),
  })
}

/** Of all accounts unless one is named; administrators see which channel served a request, and whose it was. */
function viewOf({ account_id: accountId, channel }: { account_id?: number; channel?: string }) {
  return { accountId, channel, showsChannel: true, showsAccount: true }
}
