import { systemClock } from '@/clock/clock.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'

/** Terms of a gateway that has room for every body of up to so many bytes. */
export function bodyTerms(maxBodyBytes: number): BodyTerms {
  return {
    account: 1,
    maxBodyBytes,
    bodyRoom: { take: () => true, giveBack: () => undefined },
    deadlines: new Deadlines(systemClock),
  }
}
