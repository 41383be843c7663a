import type { Attempt } from './upstream.ts'
import { FILM_SECONDS } from './wire.ts'

/** How long a film takes to be made, for each event of its script. */
const EVENT_MS = 100

/** The films of the simulation's vendor, who makes each in its time, whoever asks for it. */
export interface Films {
  /** Takes an order. */
  begin(attempt: Attempt, events: number): Response
  /** How a film stands; who has it deleted is told that as well. */
  lookAt(id: string): Response
}

export function openFilms(): Films {
  const films = new Map<string, { attempt: Attempt; doneAt: number }>()

  function lookAt(id: string): Response {
    const film = films.get(id)
    if (film === undefined) return Response.json({ error: { message: 'no such film' } }, { status: 404 })
    const { attempt, doneAt } = film
    const isDone = performance.now() >= doneAt
    if (isDone) attempt.end(attempt.isGood)
    const status = !isDone ? 'in_progress' : attempt.isGood ? 'completed' : 'failed'
    const error = status === 'failed' ? { code: 'no', message: 'the simulation says so' } : null
    const seconds = String(FILM_SECONDS)
    return Response.json({
      id,
      object: 'video',
      status,
      model: 'm',
      progress: 0,
      created_at: 1,
      seconds,
      error,
    })
  }

  return {
    begin(attempt, events) {
      attempt.end()
      const id = `film-${films.size}`
      films.set(id, { attempt, doneAt: performance.now() + events * EVENT_MS })
      return lookAt(id)
    },
    lookAt,
  }
}
