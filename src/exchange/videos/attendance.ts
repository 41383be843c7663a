import type { Caller } from '@/accounts/account.ts'
import { asGatewayError } from '@/errors/gateway-error.ts'
import { admitCaller, admitWork } from '@/exchange/admission/admission.ts'
import { authenticateCaller } from '@/exchange/admission/authentication.ts'
import type { Call } from '@/exchange/call.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { callerLeft } from '@/exchange/interruption.ts'
import { type ExchangeRecord, openRecord } from '@/exchange/record.ts'
import { errorResponse, limitsOf } from '@/exchange/relay/reply.ts'

/** Who asks about something that their account has. */
export interface Attendance {
  caller: Caller
  /** Names the request; it is stored nowhere. */
  record: ExchangeRecord
}

/**
 * A call about what an account has: nothing is made, so there is nothing to pay and no result to keep. Whoever may not
 * call gets an error in the surface's shape, as does what `act` throws.
 */
export async function attend(
  gateway: Gateway,
  call: Call,
  act: (attendance: Attendance) => Promise<Response>,
): Promise<Response> {
  const { request, listener, surface } = call
  const record = openRecord(gateway.newRequestId(), surface, gateway.clock)
  try {
    admitWork(gateway)
    const caller = await authenticateCaller(gateway.authenticate, request)
    record.caller = caller
    admitCaller(caller, () => listener.addressOf(request))
    return await act({ caller, record })
  } catch (error) {
    const failure = callerLeft(request.signal) ?? asGatewayError(error)
    const { kind, message, detail } = failure
    const line = {
      request_id: record.id,
      account: record.caller?.accountId,
      error: { kind, message, detail },
    }
    if (kind === 'internal_error') gateway.log.error({ ...line, err: failure.cause }, 'call')
    else gateway.log.info(line, 'call')
    return errorResponse(failure, record.id, surface, limitsOf(record, gateway.clock.now()))
  }
}
