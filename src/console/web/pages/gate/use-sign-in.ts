import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { asFailure } from '../../api/failure.ts'
import { useSession } from '../../session.tsx'

interface Credentials {
  email: string
  password: string
  /** Sent once the server has asked for it. */
  code: string
}

/** Signs in, at first with the password alone; `needsCode` once the server has asked for the second factor. */
export function useSignIn({ email, password, code }: Credentials) {
  const { become } = useSession()
  const [needsCode, setNeedsCode] = useState(false)
  const signIn = useAction(async () => {
    try {
      const body = { email: email.trim(), password, code: needsCode ? code.trim() : undefined }
      become((await call('POST /api/session', { body })).user)
    } catch (error) {
      // The first time this is a question and no failure.
      if (asFailure(error).code !== 'second_factor_required' || needsCode) throw error
      setNeedsCode(true)
    }
  })
  return { signIn, needsCode }
}
