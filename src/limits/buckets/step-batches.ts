import type { RedisConnection, RedisScript } from '@/redis/redis.ts'

/** What a step is told in: names, ids, and integers, which are places of keys as well. */
export type Word = string | number

/** One step of the limit script, and what its answer means. */
export interface Step<Answer> {
  /** One of its keys. All share one hash tag. */
  readonly key: string
  /** What it says to the script, which is told of a key by its place. */
  write(place: (key: string) => number): readonly Word[]
  /** How many integers it answers. */
  readonly width: number
  read(integers: readonly number[]): Answer
}

/** A step whose answer is awaited. */
interface Waiting<Answer = unknown> {
  readonly step: Step<Answer>
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** No more steps join a call of so many words (a hundred takes, below 1 ms): while it runs, Redis does nothing else. */
const MAX_WORDS = 2_000

/**
 * Makes one call to Redis of all steps that arise in one turn of the event loop: what a call costs beside its steps is
 * most of it, on both sides. None waits for the answer to another. They are done in the order of their submission.
 */
export class StepBatches {
  readonly #redis: RedisConnection
  readonly #script: RedisScript
  readonly #args: () => readonly Word[]
  #waiting: Waiting[] = []
  /** Whether a call may name keys of several hash tags: a cluster refuses that, and what stands in front of one. */
  #spansTags = true

  /** `args` are the script's arguments before the steps. */
  constructor(redis: RedisConnection, script: RedisScript, args: () => readonly Word[]) {
    this.#redis = redis
    this.#script = script
    this.#args = args
  }

  /** @throws what its call threw, or what the script says of this step alone */
  submit<Answer>(step: Step<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#sendWaiting())
      this.#waiting.push({ step, resolve, reject })
    })
  }

  #sendWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = []
    if (this.#spansTags) this.#send(waiting)
    else for (const group of byTag(waiting)) this.#send(group)
  }

  #send(waiting: readonly Waiting[]): void {
    let call = new Call()
    for (const one of waiting) {
      if (call.words >= MAX_WORDS) {
        this.#make(call)
        call = new Call()
      }
      call.add(one)
    }
    this.#make(call)
  }

  #make(call: Call): void {
    this.#redis.run(this.#script, call.keys, [...this.#args(), call.text]).then(
      reply => call.answer(reply),
      error => {
        const groups = isAboutTags(error) ? byTag(call.waiting) : []
        if (groups.length < 2) return call.fail(error)
        // Redis looks at the keys before it does anything.
        this.#spansTags = false
        for (const group of groups) this.#send(group)
      },
    )
  }
}

/** Steps that are made in one call. */
class Call {
  readonly waiting: Waiting[] = []
  words = 0
  readonly #places = new Map<string, number>()
  readonly #written: (readonly Word[])[] = []

  add(waiting: Waiting): void {
    const words = waiting.step.write(this.#place)
    this.waiting.push(waiting)
    this.#written.push(words)
    this.words += words.length
  }

  /** All keys, each once. */
  get keys(): string[] {
    return [...this.#places.keys()]
  }

  get text(): string {
    return JSON.stringify(this.#written)
  }

  /** Hands out a reply: to each step as many integers as it answers, or the text of its failure. */
  answer(reply: unknown): void {
    const items: readonly unknown[] = Array.isArray(reply) ? reply : []
    let at = 0
    for (const { step, resolve, reject } of this.waiting) {
      const first = items[at]
      const integers = items.slice(at, at + step.width)
      if (typeof first === 'string') reject(new Error(first))
      else if (integers.length === step.width && integers.every(isNumber)) resolve(step.read(integers))
      else reject(new TypeError(`the limit script answered ${JSON.stringify(reply)}`))
      at += typeof first === 'string' ? 1 : step.width
    }
  }

  fail(error: unknown): void {
    for (const { reject } of this.waiting) reject(error)
  }

  /** Lua counts from one. */
  readonly #place = (key: string): number => {
    const known = this.#places.get(key)
    if (known !== undefined) return known
    this.#places.set(key, this.#places.size + 1)
    return this.#places.size
  }
}

function byTag(waiting: readonly Waiting[]): Waiting[][] {
  return [...Map.groupBy(waiting, ({ step: { key } }) => tagIn(key) || key).values()]
}

/** What decides on which node of a cluster a key is, in its braces; empty: the key has none, and decides as a whole. */
export function tagIn(key: string): string {
  return /\{.+?\}/.exec(key)?.[0] ?? ''
}

/** https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#implemented-subset */
function isAboutTags(error: unknown): boolean {
  return error instanceof Error && error.message.includes('CROSSSLOT')
}

function isNumber(item: unknown): item is number {
  return typeof item === 'number'
}
