import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { useAction } from './api/action.ts'
import { call } from './api/client.ts'
import { ZONE, zoneName } from './format/time.ts'
import { Button } from './parts/button.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { FailureNotice } from './parts/notice.tsx'
import { ThemeButton } from './parts/theme-button.tsx'
import { useSession, useUser } from './session.tsx'

interface Place {
  path: string
  name: string
  icon: IconName
}

const HOLDER: readonly Place[] = [
  { path: '/', name: 'Overview', icon: 'overview' },
  { path: '/keys', name: 'Keys', icon: 'key' },
  { path: '/requests', name: 'Requests', icon: 'requests' },
  { path: '/billing', name: 'Billing', icon: 'billing' },
  { path: '/playground', name: 'Playground', icon: 'playground' },
  { path: '/models', name: 'Models', icon: 'models' },
  { path: '/settings', name: 'Settings', icon: 'settings' },
]

const ADMINISTRATOR: readonly Place[] = [
  { path: '/admin/traffic', name: 'All requests', icon: 'requests' },
  { path: '/admin/accounts', name: 'Accounts', icon: 'accounts' },
  { path: '/admin/users', name: 'Users', icon: 'users' },
  { path: '/admin/channels', name: 'Channels', icon: 'channels' },
  { path: '/admin/models', name: 'Models and prices', icon: 'prices' },
  { path: '/admin/redeem-codes', name: 'Redeem codes', icon: 'redeem' },
  { path: '/admin/audit', name: 'Ledger audit', icon: 'audit' },
  { path: '/admin/system', name: 'System', icon: 'system' },
  { path: '/admin/log', name: 'Audit log', icon: 'log' },
]

/** What is around every page of somebody who is signed in. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [isMenuOpen, setMenuOpen] = useState(false)
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="sidebar">
        <Sidebar />
      </header>
      <header class="topbar">
        <Brand />
        <button
          type="button"
          class="button quiet icon"
          aria-label="Menu"
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(true)}
        >
          <Icon name="menu" />
        </button>
      </header>
      {isMenuOpen ? <Menu onClose={() => setMenuOpen(false)} /> : null}
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function Brand() {
  return (
    <a class="brand" href="/">
      <Icon name="gate" size={24} /> Tollgate
    </a>
  )
}

function Sidebar() {
  const user = useUser()
  const { become } = useSession()
  const { route } = useLocation()
  const signOut = useAction(async () => {
    await call('DELETE /api/session', {})
    become(null)
    route('/sign-in')
  })
  return (
    <>
      <Brand />
      <div>
        <Places label="Your account" places={HOLDER} />
        {user.role === null ? null : <Places label="Administration" places={ADMINISTRATOR} titled />}
      </div>
      <div class="sidebar-foot">
        <p class="who">
          <b title={user.email}>{user.email}</b>
          <small class="soft">{ROLES[user.role ?? 'none']}</small>
          <small class="soft">Times in {zoneName(ZONE)}</small>
        </p>
        <div class="foot-actions">
          <Button kind="quiet" small busy={signOut.busy} onClick={() => signOut.run()}>
            {signOut.busy ? null : <Icon name="exit" size={16} />} Sign out
          </Button>
          <ThemeButton />
        </div>
        <FailureNotice failure={signOut.failure} />
      </div>
    </>
  )
}

const ROLES = {
  none: 'Account holder',
  read_only: 'Administrator, read only',
  admin: 'Administrator',
  owner: 'Owner',
} as const

function Places({
  label,
  places,
  titled = false,
}: {
  label: string
  places: readonly Place[]
  titled?: boolean
}) {
  const { path } = useLocation()
  return (
    <nav class="nav" aria-label={label}>
      {titled ? <p class="nav-title">{label}</p> : null}
      {places.map(place => (
        <a key={place.path} href={place.path} aria-current={isAt(path, place.path) ? 'page' : undefined}>
          <Icon name={place.icon} size={18} /> {place.name}
        </a>
      ))}
    </nav>
  )
}

function isAt(path: string, place: string): boolean {
  return path === place || (place !== '/' && path.startsWith(`${place}/`))
}

/** The sidebar of a narrow screen; choosing a page closes it. */
function Menu({ onClose }: { onClose(): void }) {
  const element = useRef<HTMLDialogElement>(null)
  const { path } = useLocation()
  const openedAt = useRef(path)
  useEffect(() => {
    const dialog = element.current
    const opener = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      // Back to the button, unless a link has led to another page, whose heading has the focus by then.
      if (opener instanceof HTMLElement && path === location.pathname) opener.focus()
    }
  }, [])
  useEffect(() => {
    if (path !== openedAt.current) onClose()
  }, [path, onClose])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link clicks it, and Escape closes the menu
    <dialog
      ref={element}
      class="menu"
      aria-label="Menu"
      onCancel={onClose}
      onClick={event => {
        const isLink = event.target instanceof Element && event.target.closest('a') !== null
        if (isLink || event.target === element.current) onClose()
      }}
    >
      <div class="sidebar">
        <Sidebar />
      </div>
    </dialog>
  )
}
