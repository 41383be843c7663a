import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { Rows } from '@/db/connect.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError } from '../failure.ts'
import { factorStore } from './factor-store.ts'
import type { StoredUser } from './user-store.ts'

/** RFC 6238 with what every authenticator app expects: SHA-1, six digits, half a minute. */
const PERIOD_S = 30
const SECRET_BYTES = 20
/** One step earlier and later: clocks differ, and typing takes time. */
const WINDOW = 1
const RECOVERY_CODES = 10

/** A new secret, and the address that an authenticator app reads it from. */
export function newSecret(email: string): { secret: string; uri: string } {
  const secret = Secret.fromHex(randomBytes(SECRET_BYTES).toString('hex')).base32
  return { secret, uri: totpOf(secret, email).toString() }
}

/** The step that a code belongs to; undefined: it is wrong at this time. `now` in ms. */
export function stepOf(secret: string, code: string, now: number): number | undefined {
  const delta = totpOf(secret, '').validate({
    token: code.replace(/\s/g, ''),
    timestamp: now,
    window: WINDOW,
  })
  return delta === null ? undefined : Math.floor(now / 1000 / PERIOD_S) + delta
}

/**
 * Asks a user who has one for the second factor; each code works once.
 * @throws ConsoleError `second_factor_required`, `rate_limited`
 */
export async function checkSecondFactor(
  console: Console,
  rows: Rows,
  user: StoredUser,
  code: string | undefined,
): Promise<void> {
  if (user.totpSecret === null) return
  if (code === undefined) {
    throw new ConsoleError('second_factor_required', 'Enter the code of your authenticator app')
  }
  console.throttle.take(['second-factor', String(user.id)])
  const store = factorStore(rows)
  const step = stepOf(console.secretBox.open(user.totpSecret), code, console.clock.now())
  const isGood =
    step === undefined
      ? await store.useRecoveryCode(user.id, hashRecoveryCode(code))
      : await store.useTotpStep(user.id, step)
  if (!isGood)
    throw new ConsoleError(
      'second_factor_required',
      'This code is wrong or was used already: wait for the next one',
      {
        field: 'code',
      },
    )
  console.throttle.giveBack(['second-factor', String(user.id)])
}

/** Ten codes of 50 random bits each, for a lost authenticator. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const digits = [...randomBytes(10)].map(byte => ALPHABET.charAt(byte % 32)).join('')
    return `${digits.slice(0, 5)}-${digits.slice(5)}`
  })
}

/** Crockford's base 32: no I, L, O or U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** SHA-256 of a code however it was typed. */
export function hashRecoveryCode(typed: string): Uint8Array {
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1')
  return new Uint8Array(createHash('sha256').update(`recovery ${code}`).digest())
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'Tollgate', label, secret, algorithm: 'SHA1', digits: 6, period: PERIOD_S })
}
