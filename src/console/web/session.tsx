import { type ComponentChildren, createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { Deployment, User } from '../api/contract/session.ts'
import { call, whenSignedOut } from './api/client.ts'
import { type ApiFailure, asFailure } from './api/failure.ts'
import { Button } from './parts/button.tsx'
import { Notice, Waiting } from './parts/notice.tsx'

interface Session {
  deployment: Deployment
  /** Who is signed in. */
  user: User | null
  /** The server has ended the session of `user`, who is asked to sign in again over the page. */
  hasEnded: boolean
  /** After somebody signed in or out, or changed what they are. */
  become(user: User | null): void
}

const SessionContext = createContext<Session | undefined>(undefined)

/** Who is signed in, and what the deployment offers. */
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

/** Learns who is signed in before anything is shown, and whenever that changes. */
export function SessionProvider({ children }: { children: ComponentChildren }) {
  const [deployment, setDeployment] = useState<Deployment>()
  const [failure, setFailure] = useState<ApiFailure>()
  const [hasEnded, setEnded] = useState(false)
  const user = useRef<User | null>(null)
  const waiting = useRef<PromiseWithResolvers<boolean> | undefined>(undefined)
  const learn = useCallback((found: Deployment) => {
    // Calls that wait are those of one person, and of nobody else.
    waiting.current?.resolve(found.user !== null && found.user.id === user.current?.id)
    waiting.current = undefined
    user.current = found.user
    setEnded(false)
    setDeployment(found)
  }, [])
  const load = useCallback(() => {
    setFailure(undefined)
    call('GET /api/deployment', {}).then(learn, (error: unknown) => setFailure(asFailure(error)))
  }, [learn])
  useEffect(() => {
    whenSignedOut(() => {
      if (user.current === null) return Promise.resolve(false)
      if (waiting.current !== undefined) return waiting.current.promise
      waiting.current = Promise.withResolvers<boolean>()
      const { promise } = waiting.current
      // The refusal may be an old one, of before somebody signed in again, here or on another page.
      call('GET /api/deployment', {}).then(
        found => (found.user === null ? setEnded(true) : learn(found)),
        () => setEnded(true),
      )
      return promise
    })
    load()
  }, [load, learn])
  // Without an answer the page stays as it is: its next call is told who is signed in.
  const learnAgain = useCallback(() => {
    call('GET /api/deployment', {}).then(learn, () => undefined)
  }, [learn])
  const tellOthers = useOtherPages(learnAgain)
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
  const become = (next: User | null) => {
    learn({ ...deployment, user: next })
    tellOthers()
  }
  return (
    <SessionContext.Provider value={{ deployment, user: deployment.user, hasEnded, become }}>
      {children}
    </SessionContext.Provider>
  )
}

/** The other pages of this browser have the same cookie: whoever it belongs to now, all of them must show it. */
function useOtherPages(onChange: () => void): () => void {
  const channel = useRef<BroadcastChannel | undefined>(undefined)
  useEffect(() => {
    const opened = new BroadcastChannel('session')
    opened.onmessage = onChange
    channel.current = opened
    return () => opened.close()
  }, [onChange])
  return useCallback(() => channel.current?.postMessage('changed'), [])
}
