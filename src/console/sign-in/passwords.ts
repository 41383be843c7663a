import { Gate } from '../gate.ts'

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
const CROWD = {
  atOnce: 2,
  each: 2,
  waiting: 50,
  many: 50,
  refusal: 'Too many people are signing in, try again in a moment',
}

/** Hashes with 64 MiB and two passes unless said. */
export function createPasswords(options: PasswordOptions = {}): Passwords {
  const algorithm = {
    algorithm: 'argon2id',
    memoryCost: options.memoryCost ?? 65_536,
    timeCost: options.timeCost ?? 2,
  } as const
  const gate = new Gate(CROWD)
  const nobody = Bun.password.hash(crypto.randomUUID(), algorithm)
  return {
    hash: password => gate.pass('anybody', () => Bun.password.hash(password, algorithm)),
    verify: (password, hash) =>
      gate.pass('anybody', async () => {
        const same = await Bun.password.verify(password, hash ?? (await nobody))
        return same && hash !== undefined
      }),
  }
}
