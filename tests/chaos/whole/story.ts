import type { Call } from './caller.ts'
import type { Fault } from './plan.ts'
import type { TwoKeyed } from './world.ts'

/** What takes so long takes a multiple of our own lateness longer where the machine is busy. */
export const LATE_TIMES = 4

/** Something that was broken, from then until then by performance.now(). */
export interface Disturbance {
  what: Fault['do']
  at: number
  until: number
  /** The process that was ended, or one of whose workers was. */
  gateway: object | undefined
}

/** Keys of a payer, all unless said, are not to be served from when the answer says so; times by performance.now(). */
export interface Ban {
  payer: number
  key: number | undefined
  askedAt: number
  from: number
  to: number
}

/** What happened in the run of a seed, as those outside of the gateways know it. */
export interface Story {
  seed: number
  payers: TwoKeyed[]
  beganAt: number
  calls: Call[]
  /** Those in the end, when all is well again. */
  probes: Call[]
  disturbances: Disturbance[]
  /** What each payer was given less what was taken, but for requests. */
  given: bigint[]
  /** What was taken of that. */
  taken: bigint[]
  /** By request. */
  refunds: Map<string, bigint>
  bans: Ban[]
  /** Limits that the tight payer has had. */
  limits: { requests: number; concurrent: number }
  /** By how much a timer of ours was late at most: so busy is the machine. */
  lateMs: number
  /** Each time that one was: from when it was due until when it came. */
  lates: { from: number; to: number }[]
  /** What was done and what came of it, to be read. */
  trace: string[]
}
