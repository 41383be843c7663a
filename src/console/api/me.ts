import { accountStore } from '@/accounts/store.ts'
import { refuseAdministrator } from '../accounts/closing.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, invalid } from '../failure.ts'
import { factorStore } from '../sign-in/factor-store.ts'
import { linkStore } from '../sign-in/link-store.ts'
import {
  checkSecondFactor,
  hashRecoveryCode,
  newRecoveryCodes,
  newSecret,
  stepOf,
} from '../sign-in/second-factor.ts'
import { sessionStore } from '../sign-in/session-store.ts'
import { lockSignedIn } from '../sign-in/sessions.ts'
import { userStore } from '../sign-in/user-store.ts'
import { meRoutes } from './contract/session.ts'
import { controller, DONE, type Listener } from './controller.ts'

/** One that is wrong again and again comes from a clock that is. */
const WRONG_CODE =
  'This code is wrong: type the one that is shown now, and see that your device has the right time'

/** What a user changes of the own way in, and the wish that there be none any more. The contract asks for the password. */
export function meApi(console: Console, listener: Listener) {
  const { clock, database, passwords, throttle } = console
  const users = userStore(database.orm)
  const accounts = accountStore(database)

  return controller('console-me', console, listener, meRoutes, {
    'PUT /api/me/password': async ({ signedIn, body }) => {
      const passwordHash = await passwords.hash(body.password)
      await database.orm.transaction(async tx => {
        // Before the user is locked, as by whoever accepts one.
        await linkStore(tx).revoke(signedIn.user.email, ['password_reset'])
        const { id } = await lockSignedIn(tx, signedIn)
        await userStore(tx).change(id, { passwordHash, resetRequestedAt: null })
        await sessionStore(tx).endAll(id, signedIn.sessionId)
      })
      return DONE
    },
    'POST /api/me/totp': async ({ signedIn: { user } }) => {
      if (user.totpSecret !== null)
        throw new ConsoleError('refused', 'There is a second factor already: remove it first')
      const { secret, uri } = newSecret(user.email)
      await users.change(user.id, { totpPending: console.secretBox.seal(secret) })
      return { secret, uri }
    },
    'POST /api/me/totp/confirm': async ({ signedIn, body }) => {
      throttle.take(['second-factor', String(signedIn.user.id)])
      const codes = newRecoveryCodes()
      await database.orm.transaction(async tx => {
        // Of several at once one confirms: the recovery codes of another would never work.
        const { id, totpPending } = await lockSignedIn(tx, signedIn)
        if (totpPending === null)
          throw new ConsoleError('refused', 'There is nothing to confirm any more: begin again')
        const step = stepOf(console.secretBox.open(totpPending), body.code, clock.now())
        if (step === undefined) throw invalid('code', WRONG_CODE)
        await userStore(tx).change(id, { totpSecret: totpPending, totpPending: null, totpStep: step })
        await factorStore(tx).setRecoveryCodes(id, codes.map(hashRecoveryCode))
        await sessionStore(tx).endAll(id, signedIn.sessionId)
      })
      return { recovery_codes: codes }
    },
    'GET /api/me/closing': async ({ signedIn: { user } }) => {
      const { closeRequestedAt } = await accounts.findAccount(user.accountId)
      return { requested_at: closeRequestedAt?.toISOString() ?? null }
    },
    'POST /api/me/closing': async ({ signedIn: { user } }) => {
      refuseAdministrator(user)
      const at = new Date(clock.now())
      await accounts.requestClosing(user.accountId, at)
      return { requested_at: at.toISOString() }
    },
    'DELETE /api/me/closing': async ({ signedIn: { user } }) => {
      await accounts.requestClosing(user.accountId, undefined)
      return DONE
    },
    'POST /api/me/totp/remove': async ({ signedIn: { user }, body }) => {
      if (user.totpSecret === null) throw new ConsoleError('refused', 'There is no second factor')
      await checkSecondFactor(console, database.orm, user, body.code)
      await users.change(user.id, { totpSecret: null, totpPending: null })
      await factorStore(database.orm).setRecoveryCodes(user.id, [])
      return DONE
    },
  })
}
