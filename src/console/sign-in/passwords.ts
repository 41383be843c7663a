import { ConsoleError } from '../failure.ts'

/** Passwords as argon2id hashes. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** With no hash it takes as long and is false: whether somebody is known cannot be told by the time it takes. */
  verify(password: string, hash: string | undefined): Promise<boolean>
}

interface PasswordOptions {
  /** In KiB; a test may take less. */
  memoryCost?: number
  timeCost?: number
}

/** Each takes tens of megabytes and a quarter of a second: more at once would be a way to stop the gateway. */
const AT_ONCE = 2
const WAITING = 50

/** Hashes with 64 MiB and two passes unless said. */
export function createPasswords(options: PasswordOptions = {}): Passwords {
  const algorithm = {
    algorithm: 'argon2id',
    memoryCost: options.memoryCost ?? 65_536,
    timeCost: options.timeCost ?? 2,
  } as const
  const gate = new Gate()
  const nobody = Bun.password.hash(crypto.randomUUID(), algorithm)
  return {
    hash: password => gate.pass(() => Bun.password.hash(password, algorithm)),
    verify: (password, hash) =>
      gate.pass(async () => {
        const same = await Bun.password.verify(password, hash ?? (await nobody))
        return same && hash !== undefined
      }),
  }
}

/** Lets a few in at once; the others wait, and those beyond are turned away. */
class Gate {
  #inside = 0
  readonly #waiting: (() => void)[] = []

  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#inside >= AT_ONCE) await this.#wait()
    else this.#inside += 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#inside -= 1
      else next()
    }
  }

  /** Whoever leaves hands the place on. */
  #wait(): Promise<void> {
    if (this.#waiting.length >= WAITING) {
      throw new ConsoleError('unavailable', 'Too many people are signing in, try again in a moment', {
        retryAfterMs: 5_000,
      })
    }
    return new Promise(resolve => this.#waiting.push(resolve))
  }
}
