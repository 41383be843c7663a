import { createHash } from 'node:crypto'
import type { JsonObject } from '@/json/json.ts'
import { ConsoleError } from './failure.ts'

/** What a form changes, in a few characters: others as soon as any of it is another. */
export function revisionOf(shown: JsonObject): string {
  return createHash('sha256').update(JSON.stringify(shown)).digest('base64url').slice(0, 16)
}

/**
 * A form writes all that it was filled with: made from something else, it would undo what somebody else did. What is
 * stored must not change between this and the writing of it.
 * @throws ConsoleError `refused`, unless `made` is undefined: whoever names no revision overwrites
 */
export function refuseOverwriting(what: string, stored: string, made: string | undefined): void {
  if (made === undefined || made === stored) return
  const advice = 'Reload the page to see it as it is now, then make your change again'
  throw new ConsoleError('refused', `Somebody else has changed this ${what} in the meantime. ${advice}`)
}
