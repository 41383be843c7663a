import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { asFailure } from '../../api/failure.ts'
import { useForm } from '../../api/form-state.ts'
import { useSession } from '../../session.tsx'

/** Signs in, at first with the password alone; `needsCode` once the server has asked for the second factor. */
export function useSignIn(known = '') {
  const { become } = useSession()
  const [needsCode, setNeedsCode] = useState(false)
  const signIn = useForm({ email: known, password: '', code: '' }, async ({ email, password, code }) => {
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
