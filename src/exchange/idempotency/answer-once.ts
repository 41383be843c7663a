import type { Caller } from '@/accounts/account.ts'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { admitCaller, admitWork, reaches } from '@/exchange/admission/admission.ts'
import { authenticateCaller } from '@/exchange/admission/authentication.ts'
import { termsOf } from '@/exchange/admission/body-arrival.ts'
import { readBytes, requestAgain } from '@/exchange/admission/request-bytes.ts'
import type { Listener } from '@/exchange/call.ts'
import { failureOf } from '@/exchange/failure.ts'
import { errorResponse, headerText } from '@/exchange/relay/reply.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { IdempotentGateway } from './idempotency.ts'
import { isReplay } from './replay.ts'

/** Stripe's bound. */
const LONGEST_KEY = 255

/** A request with an Idempotency-Key, and how it is answered if it is the first with that key. */
interface IdempotentCall {
  request: Request
  listener: Listener
  /** Whose shape an error has. */
  surface: ConversationSurface
  /** Answers a request like any other. */
  answer: (request: Request) => Promise<Response>
}

/**
 * A POST with an Idempotency-Key: the same key and body get the same answer for 24 hours, and are run once. Whoever is
 * not admitted is told so by `answer`, as without the key.
 */
export async function answerOnce(gateway: IdempotentGateway, call: IdempotentCall): Promise<Response> {
  const { request, listener, surface, answer } = call
  let caller: Caller
  try {
    admitWork(gateway)
    caller = await authenticateCaller(gateway.authenticate, request)
    admitCaller(caller, () => listener.addressOf(request))
  } catch (error) {
    const failure = asGatewayError(error)
    if (failure.status < 500) return answer(request)
    // Who calls may be known the next moment, and then the request would be run without its key.
    return errorResponse(failure, gateway.newRequestId(), surface)
  }
  try {
    const key = readKey(request.headers)
    const body = await readBytes(request, termsOf(caller, gateway))
    const claim = { accountId: caller.accountId, key, fingerprint: fingerprintOf(request, body) }
    const follow = () => gateway.followers.follow(request, listener)
    const asking = { signal: request.signal, surface, follow }
    const answered = await gateway.idempotency.once(claim, asking, signal => {
      const again = requestAgain(request, body, signal)
      return { request: again, answer: () => answer(again) }
    })
    if (!isReplay(answered) || isForCaller(gateway, caller, answered)) return answered
    await answered.body?.cancel()
    return await answer(requestAgain(request, body, request.signal))
  } catch (error) {
    const failure = failureOf(error, request.signal)
    const requestId = gateway.newRequestId()
    gateway.log.info(
      { request_id: requestId, account: caller.accountId, key: caller.keyId, error: failure.kind },
      'an idempotent request was refused',
    )
    return errorResponse(failure, requestId, surface)
  }
}

/** False for the answer of a model that another key of the account may use and this one may not. */
function isForCaller({ catalog }: IdempotentGateway, caller: Caller, answered: Response): boolean {
  const told = answered.headers.get('x-tollgate-model')
  const isTold = (name: string) => headerText(name) === told
  // A model that was renamed has its old name as an alias.
  const models = catalog.list().filter(({ id, aliases }) => isTold(id) || aliases.some(isTold))
  return models.length === 0 || models.some(model => reaches(caller, model))
}

/** @throws GatewayError `invalid_request` */
function readKey(headers: Headers): string {
  const key = headers.get('idempotency-key') ?? ''
  if (key.length <= LONGEST_KEY && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)) return key
  throw new GatewayError(
    'invalid_request',
    `An Idempotency-Key is 1 to ${LONGEST_KEY} printable ASCII characters`,
    { param: 'Idempotency-Key' },
  )
}
