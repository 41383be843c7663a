import { promptOf, type Script } from './upstream.ts'
import { isConversation, requestOf, type Surface, tokensIn, WIRES } from './wire.ts'

/** One request of the plan. Under an Idempotency-Key it is sent until it has a whole answer, by two at once if `twice`. */
export interface CallPlan {
  name: string
  payer: number
  /** Which of the payer's keys. */
  key: number
  surface: Surface
  model: string
  streamed: boolean
  /** It is answered at once, and asked for until it has ended; whoever leaves cancels it. */
  background: boolean
  /** The output limit that it states. */
  most: number | undefined
  script: Script
  /** The caller leaves after so many bytes of the answer. */
  leavesAfter: number | undefined
  idempotent: boolean
  twice: boolean
}

/** What became of one sending of a request; all times by performance.now(). */
export interface Call {
  plan: CallPlan
  /** The process it was sent to. */
  gateway: object
  sentAt: number
  endedAt: number
  /** Undefined: no answer came. */
  status: number | undefined
  requestId: string | undefined
  isReplay: boolean
  /** It was told when to come back. */
  hasRetryAfter: boolean
  body: string
  /** How many tokens had come by when. */
  received: { at: number; tokens: number }[]
  /** The answer came to its end. */
  isWhole: boolean
  /** The caller left before that. */
  hasLeft: boolean
}

/** Sends a request and reads what comes, to the end or until the caller leaves. */
export async function send(
  gateway: { apiUrl: string },
  key: string,
  plan: CallPlan,
  leaves: boolean,
): Promise<Call> {
  const { surface, streamed, script } = plan
  const { path, body } = requestOf(surface, plan.model, promptOf(plan.name, script), plan)
  const call: Call = {
    plan,
    gateway,
    sentAt: performance.now(),
    endedAt: Number.POSITIVE_INFINITY,
    status: undefined,
    requestId: undefined,
    isReplay: false,
    hasRetryAfter: false,
    body: '',
    received: [],
    isWhole: false,
    hasLeft: false,
  }
  const leaving = new AbortController()
  try {
    const response = await fetch(gateway.apiUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(plan.idempotent ? { 'idempotency-key': plan.name } : {}),
      },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
    call.status = response.status
    call.requestId = response.headers.get('x-request-id') ?? undefined
    call.isReplay = response.headers.get('idempotent-replayed') !== null
    call.hasRetryAfter = response.headers.has('retry-after')
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      call.body += decoder.decode(chunk, { stream: true })
      const tokens = tokensIn(call.body.slice(0, call.body.lastIndexOf('\n') + 1))
      call.received.push({ at: performance.now(), tokens })
      if (leaves && plan.leavesAfter !== undefined && call.body.length >= plan.leavesAfter) {
        call.hasLeft = true
        break
      }
    }
    call.isWhole = response.status === 200 && isWholeAnswer(surface, streamed, call)
  } catch {
    // The gateway is gone, or has broken off; what came of the answer is in `call`.
  }
  leaving.abort()
  call.endedAt = performance.now()
  if (call.isWhole) call.hasLeft = false
  return call
}

/** What became of it, in a line. */
export function told({ isWhole, hasLeft, isReplay, status, requestId, body }: Call): string {
  const end = isWhole ? 'whole' : hasLeft ? 'left' : 'cut'
  const code = /"(?:code|reason)":\s*"(\w+)"/.exec(body)?.[1] ?? ''
  return `${status} ${end} ${code} ${isReplay ? 'replay of ' : ''}${requestId}`
}

function isWholeAnswer(surface: Surface, streamed: boolean, { body, hasLeft }: Call): boolean {
  if (!streamed || !isConversation(surface)) return isJson(body)
  // Gemini's stream has no event that is its last.
  return WIRES[surface].terminal.test(body) && !(surface === 'gemini' && (hasLeft || /"error":/.test(body)))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
