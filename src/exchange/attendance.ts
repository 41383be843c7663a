import type { Caller } from '@/accounts/account.ts'
import { admitCaller, admitWork } from '@/exchange/admission/admission.ts'
import { authenticateCaller } from '@/exchange/admission/authentication.ts'
import { errorResponse, identityHeaders, limitHeadersOf } from '@/exchange/relay/reply.ts'
import type { Call } from './call.ts'
import { failureOf, logCall } from './failure.ts'
import type { Gateway } from './gateway.ts'
import { type ExchangeRecord, openRecord } from './record.ts'

/** Who asks about something that their account has. */
interface Attendance {
  caller: Caller
  /** Names the request; it is stored nowhere. */
  record: ExchangeRecord
}

/** What is answered: a response, or the JSON of one. */
type Act = (attendance: Attendance) => Promise<object> | object

/**
 * A call about what an account has: nothing is made, so there is nothing to pay and no result to keep. Whoever may not
 * call gets an error in the surface's shape, as does what `act` throws.
 */
export function attend(gateway: Gateway, call: Call, act: Act): Promise<Response> {
  return answer(gateway, call, act, () => undefined)
}

/** As `attend`, where an upstream may have to be asked, which is work that a process can have too much of. */
export function attendWork(gateway: Gateway, call: Call, act: Act): Promise<Response> {
  return answer(gateway, call, act, () => admitWork(gateway))
}

async function answer(gateway: Gateway, call: Call, act: Act, admit: () => void): Promise<Response> {
  const { request, surface } = call
  const record = openRecord(gateway.newRequestId(), surface, gateway.clock)
  try {
    admit()
    record.caller = await authenticateCaller(gateway.authenticate, request)
    admitCaller(record.caller, () => call.listener.addressOf(request))
    const answered = await act({ caller: record.caller, record })
    if (answered instanceof Response) return answered
    return Response.json(answered, { headers: identityHeaders(record.id, surface) })
  } catch (error) {
    const failure = failureOf(error, request.signal)
    logCall(gateway.log, 'call', { request_id: record.id, account: record.caller?.accountId }, failure)
    return errorResponse(failure, record.id, surface, limitHeadersOf(record, gateway.clock.now()))
  }
}
