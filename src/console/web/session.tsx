import { type ComponentChildren, createContext } from 'preact'
import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import type { Deployment, User } from '../api/contract/session.ts'
import { call, whenSignedOut } from './api/client.ts'
import { type ApiFailure, asFailure } from './api/failure.ts'
import { Button } from './parts/button.tsx'
import { Notice, Waiting } from './parts/notice.tsx'

export interface Session {
  deployment: Deployment
  /** Who is signed in. */
  user: User | null
  /** After somebody signed in or out, or changed what they are. */
  become(user: User | null): void
}

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('there is no session outside the provider')
  return session
}

/** For pages behind the sign-in. */
export function useUser(): User {
  const { user } = useSession()
  if (user === null) throw new Error('nobody is signed in')
  return user
}

/** The deployment's currency. */
export function useCurrency(): string {
  return useSession().deployment.currency
}

/** Whether who is signed in may change what administrators change. */
export function useMayAdminister(): boolean {
  const { role } = useUser()
  return role === 'admin' || role === 'owner'
}

export function SessionProvider({ children }: { children: ComponentChildren }) {
  const [deployment, setDeployment] = useState<Deployment>()
  const [failure, setFailure] = useState<ApiFailure>()
  const load = useCallback(() => {
    setFailure(undefined)
    call('GET /api/deployment', {}).then(setDeployment, (error: unknown) => setFailure(asFailure(error)))
  }, [])
  const become = useCallback(
    (user: User | null) => setDeployment(known => (known === undefined ? undefined : { ...known, user })),
    [],
  )
  useEffect(() => {
    whenSignedOut(() => become(null))
    load()
  }, [load, become])
  if (failure !== undefined) {
    return (
      <main class="gate">
        <Notice kind="bad">
          {failure.message}
          <Button small onClick={load}>
            Try again
          </Button>
        </Notice>
      </main>
    )
  }
  if (deployment === undefined) return <Waiting what="the console" />
  return (
    <SessionContext.Provider value={{ deployment, user: deployment.user, become }}>
      {children}
    </SessionContext.Provider>
  )
}
