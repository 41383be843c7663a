import { equal, fail, match, ok } from 'node:assert/strict'
import type { Cell, Feature } from './cell.ts'
import type { SdkFailure, Side } from './talk.ts'

export const FAILURE_FEATURES: Feature[] = [
  { name: 'upstream refuses: 400', run: refused(400, 400) },
  { name: 'upstream refuses our key: 401 as 502', run: refused(401, 502) },
  { name: 'upstream knows no such thing: 404', run: refused(404, 404) },
  { name: 'upstream limits: 429', run: refused(429, 429) },
  { name: 'upstream fails: 500 as 502', run: refused(500, 502) },
  { name: 'upstream is overloaded: 503', run: refused(503, 503) },
  { name: 'error before the first output', run: errorFirst },
  { name: 'error in the middle', run: errorMidstream, isForeign: (_, __, mode) => mode === 'whole' },
  { name: 'connection cut', run: cut },
]

/** The error that an SDK throws for an answer of this name. */
async function failureOf(cell: Cell, name: string): Promise<SdkFailure> {
  let answer: unknown
  try {
    answer = await cell.ask(name, 'one two three four five six seven')
  } catch (error) {
    return cell.caller.failure(error)
  }
  return fail(`no error but an answer: ${JSON.stringify(answer)}`)
}

/** The class that an SDK has for a status; Google's has one for all. */
function className(caller: Side, status: number): string | undefined {
  if (caller === 'gemini') return 'ApiError'
  if (caller === 'messages' && status === 503) return 'ServiceUnavailableError'
  return CLASSES[status]
}

const CLASSES: Record<number, string> = {
  400: 'BadRequestError',
  404: 'NotFoundError',
  429: 'RateLimitError',
  502: 'InternalServerError',
  503: 'InternalServerError',
}

function refused(upstreamStatus: number, status: number): Feature['run'] {
  return async cell => {
    const failure = await failureOf(cell, `error-${upstreamStatus}`)
    equal(failure.status, status)
    equal(failure.name, className(cell.caller.side, status))
    match(failure.message, /\(request id: [0-9a-f-]{36}\)/)
  }
}

async function errorFirst(cell: Cell): Promise<void> {
  const failure = await failureOf(cell, 'error-first')
  ok(failure.status === 503 || failure.status === 502, String(failure.status))
}

async function errorMidstream(cell: Cell): Promise<void> {
  const failure = await failureOf(cell, 'error-midstream')
  // Google's SDK tells only that the stream broke; the others give the text.
  if (cell.caller.side !== 'gemini') match(failure.message, /Simulated error 503/)
}

/** An answer that broke off is never taken for a whole one. */
async function cut(cell: Cell): Promise<void> {
  await failureOf(cell, 'cut-3')
}
