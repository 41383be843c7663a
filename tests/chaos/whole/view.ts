import type { Call, CallPlan } from './caller.ts'
import { type Ban, type Disturbance, LATE_TIMES, type Story } from './story.ts'
import type { Attempt } from './upstream.ts'
import { FILM_SECONDS } from './wire.ts'
import { ratesOf, type World } from './world.ts'

/** A process that is killed so soon after an answer's end may not have charged it. */
export const SETTLED_MS = 2_000
/** The run of a seed as it was seen from outside of the gateways, and what each call may have cost by that. */
export class View {
  readonly world: World
  readonly story: Story

  constructor(world: World, story: Story) {
    this.world = world
    this.story = story
  }

  /** Its requests that came to the upstream. */
  attempts({ name }: CallPlan): readonly Attempt[] {
    return this.world.upstream.attempts.get(name) ?? []
  }

  /** What may have held for it: a request is served by what held when it began. */
  files(plan: CallPlan, sentAt: number): World['applied'] {
    const { applied } = this.world
    const begun = this.attempts(plan).at(-1)?.at ?? sentAt
    return applied.filter(
      ({ from }, index) => from <= begun && applied.slice(index + 1).every(({ heldAt }) => heldAt >= sentAt),
    )
  }

  /** When its key or its whole account is not to be served. */
  bans({ payer, key }: CallPlan): Ban[] {
    return this.story.bans.filter(ban => ban.payer === payer && (ban.key ?? key) === key)
  }

  /** Whether nothing was broken between the two. */
  isCalm(from: number, to: number): boolean {
    return !this.story.disturbances.some(({ at, until }) => until > from && at < to)
  }

  /** Price lists by which it may be charged. */
  lists(plan: CallPlan, sentAt: number): number[] {
    return this.files(plan, sentAt).map(({ list }) => list)
  }

  /** What so many tokens cost by a price list. */
  cost({ surface }: CallPlan, list: number, input: number, output: number): bigint {
    const { input: inputNano, output: outputNano, picture, filmSecond } = ratesOf(list)
    if (surface === 'images') return BigInt(picture)
    if (surface === 'videos') return BigInt(FILM_SECONDS * filmSecond)
    return BigInt(input * inputNano + output * outputNano)
  }

  /** The most that anything that was done for it can have cost. */
  most(plan: CallPlan, sentAt: number): bigint {
    const attempts = this.attempts(plan).filter(({ isWhole }) => isWhole || plan.surface !== 'videos')
    if (attempts.length === 0) return 0n
    const sent = Math.max(...attempts.map(each => each.sent))
    const costs = this.lists(plan, sentAt).map(list => this.cost(plan, list, inputBound(plan), sent))
    return costs.reduce(larger, 0n)
  }

  /** Whether a process was killed that may have had it. */
  killOf(call: Call): Disturbance | undefined {
    return this.#metBy(call).find(({ what }) => what === 'kill' || what === 'kill-worker')
  }

  /** Whether others may take the process for dead that may have had it. */
  isTakenOver(call: Call): boolean {
    return this.#metBy(call).some(({ what }) => what !== 'stop')
  }

  #metBy({ gateway, sentAt, endedAt }: Call): Disturbance[] {
    return this.story.disturbances.filter(
      each => each.gateway === gateway && each.until >= sentAt && each.at <= endedAt + SETTLED_MS,
    )
  }

  /** What takes so long on a machine whose timers are not late may take so long on this one. */
  late(ms: number): number {
    return ms + LATE_TIMES * this.story.lateMs
  }

  /** How far below zero an account, or below its cap a key, may end: by all that ran at one time. */
  overrun(isOf: (call: Call) => boolean): bigint {
    const calls = this.story.calls.filter(isOf)
    return calls
      .map(({ sentAt }) =>
        calls
          .filter(call => call.sentAt <= sentAt && call.endedAt >= sentAt)
          .reduce((sum, call) => sum + this.most(call.plan, call.sentAt), 0n),
      )
      .reduce(larger, 0n)
  }
}

/** No count of a prompt is above its bytes: those of the script and its name, and the words around them. */
export function inputBound(plan: CallPlan): number {
  return 100 + JSON.stringify(plan).length / 4
}

export function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
