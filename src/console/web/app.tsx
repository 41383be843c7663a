import { useEffect } from 'preact/hooks'
import { LocationProvider, Route, Router, useLocation } from 'preact-iso'
import { afterSignIn, signInAddress } from './after-sign-in.ts'
import { AccountPage } from './pages/admin/accounts/account.tsx'
import { AccountsPage } from './pages/admin/accounts/accounts.tsx'
import { ChannelsPage } from './pages/admin/channels/channels.tsx'
import { LogPage } from './pages/admin/log.tsx'
import { ModelPage } from './pages/admin/models/model.tsx'
import { AdminModelsPage } from './pages/admin/models/models.tsx'
import { AuditPage } from './pages/admin/money/audit.tsx'
import { RedeemCodesPage } from './pages/admin/money/redeem-codes.tsx'
import { SystemPage } from './pages/admin/system.tsx'
import { TrafficPage } from './pages/admin/traffic.tsx'
import { UsersPage } from './pages/admin/users/users.tsx'
import { BillingPage } from './pages/billing/billing.tsx'
import { ForgottenPage } from './pages/gate/forgotten.tsx'
import { LinkPage } from './pages/gate/link.tsx'
import { SignInPage } from './pages/gate/sign-in.tsx'
import { SignInAgain } from './pages/gate/sign-in-again.tsx'
import { SignUpPage } from './pages/gate/sign-up.tsx'
import { KeysPage } from './pages/keys/keys.tsx'
import { ModelsPage } from './pages/models/models.tsx'
import { NowherePage } from './pages/nowhere.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { PlaygroundPage } from './pages/playground/playground.tsx'
import { RequestsPage } from './pages/requests/requests.tsx'
import { SettingsPage } from './pages/settings/settings.tsx'
import { Progress } from './parts/progress.tsx'
import { ToastProvider } from './parts/toast.tsx'
import { SessionProvider, useSession } from './session.tsx'
import { Shell } from './shell.tsx'

/** The whole console: the gate, or the page that the address names. */
export function App() {
  return (
    <SessionProvider>
      <ToastProvider>
        <Progress />
        <LocationProvider>
          <Pages />
        </LocationProvider>
      </ToastProvider>
    </SessionProvider>
  )
}

/** Pages before the sign-in. */
const GATES = ['/sign-in', '/sign-up', '/forgotten', '/link']

function Pages() {
  const { user, hasEnded } = useSession()
  const { path, url, route } = useLocation()
  const isGate = GATES.includes(path)
  // Whoever is sent to sign in comes back to where they wanted to go; who is signed in has nothing to do there.
  useEffect(() => {
    if (user === null && !isGate) route(signInAddress(url), true)
    if (user !== null && (path === '/sign-in' || path === '/sign-up'))
      route(afterSignIn(url, location.origin), true)
  }, [user, isGate, path, url, route])
  if (isGate) return <GatePages />
  if (user === null) return null
  return (
    <>
      {/* Of somebody else everything is another page. */}
      <SignedInPages key={user.id} isAdministrator={user.role !== null} />
      {hasEnded ? <SignInAgain email={user.email} /> : null}
    </>
  )
}

function GatePages() {
  return (
    <Router>
      <Route path="/sign-in" component={SignInPage} />
      <Route path="/sign-up" component={SignUpPage} />
      <Route path="/forgotten" component={ForgottenPage} />
      <Route path="/link" component={LinkPage} />
    </Router>
  )
}

function SignedInPages({ isAdministrator }: { isAdministrator: boolean }) {
  const { path } = useLocation()
  return (
    <Shell>
      {/* Of another account everything is another page as well: what is typed and what was read are of the one before. */}
      <Router key={path}>
        <Route path="/" component={OverviewPage} />
        <Route path="/keys" component={KeysPage} />
        <Route path="/requests" component={RequestsPage} />
        <Route path="/billing" component={BillingPage} />
        <Route path="/playground" component={PlaygroundPage} />
        <Route path="/models" component={ModelsPage} />
        <Route path="/settings" component={SettingsPage} />
        {isAdministrator
          ? [
              <Route key="traffic" path="/admin/traffic" component={TrafficPage} />,
              <Route key="accounts" path="/admin/accounts" component={AccountsPage} />,
              <Route key="account" path="/admin/accounts/:id" component={AccountPage} />,
              <Route key="users" path="/admin/users" component={UsersPage} />,
              <Route key="channels" path="/admin/channels" component={ChannelsPage} />,
              <Route key="models" path="/admin/models" component={AdminModelsPage} />,
              <Route key="model" path="/admin/models/:id" component={ModelPage} />,
              <Route key="codes" path="/admin/redeem-codes" component={RedeemCodesPage} />,
              <Route key="system" path="/admin/system" component={SystemPage} />,
              <Route key="audit" path="/admin/audit" component={AuditPage} />,
              <Route key="log" path="/admin/log" component={LogPage} />,
            ]
          : []}
        <Route default component={NowherePage} />
      </Router>
    </Shell>
  )
}
