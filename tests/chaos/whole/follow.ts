import type { Call, CallPlan } from './caller.ts'
import { tokensOf } from './wire.ts'

const ASKED_EVERY_MS = 200
/** How often it is asked for at most: a process that dies while it looks at a film keeps others from it for a minute. */
const TRIES = 600
/** Before which of those it is cancelled, if its caller does that. */
const CANCELLED_AT = 2

/** Whether it is answered before it has ended. */
export function isFollowed({ background, surface }: CallPlan): boolean {
  return background || surface === 'videos'
}

/**
 * Asks gateways for a response that runs in the background, or a film, until it has ended, or is not shown any more to this
 * key. If neither comes, the call has no end. Who leaves cancels the response, or deletes the film.
 */
export async function follow(
  call: Call,
  key: string,
  someGateway: () => Promise<{ apiUrl: string }>,
): Promise<void> {
  const { id }: { id: string } = JSON.parse(call.body)
  const { surface, leavesAfter } = call.plan
  const ask = async (method: 'GET' | 'POST' | 'DELETE', path: string) => {
    const { apiUrl } = await someGateway()
    const headers = { authorization: `Bearer ${key}` }
    try {
      const response = await fetch(`${apiUrl}/v1/${surface}/${id}${path}`, { method, headers })
      return { status: response.status, text: await response.text() }
    } catch {
      return { status: 503, text: '' }
    }
  }
  call.isWhole = false
  call.endedAt = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES && !Number.isFinite(call.endedAt); tries += 1) {
    await Bun.sleep(ASKED_EVERY_MS)
    if (leavesAfter !== undefined && tries === CANCELLED_AT) {
      call.hasLeft = true
      await (surface === 'videos' ? ask('DELETE', '') : ask('POST', '/cancel'))
    }
    const { status, text } = await ask('GET', '')
    if (status >= 500) continue
    if (status === 200) call.body = text
    const { status: state = '' }: { status?: string } = JSON.parse(text)
    if (status === 200 && (state === 'queued' || state === 'in_progress')) continue
    call.endedAt = performance.now()
    if (status !== 200) continue
    call.isWhole = state === 'completed' || state === 'incomplete'
    call.received = [{ at: call.endedAt, tokens: tokensOf(text) }]
  }
  if (call.isWhole) call.hasLeft = false
}
