import { render } from 'preact'
import { App } from './app.tsx'
import { watchLeaving } from './parts/leaving.ts'

const root = document.getElementById('app')
watchLeaving()
refuseUnreadableAddress()
if (root !== null) render(<App />, root)

/** The router would stop at an address whose escapes mean nothing: it becomes one that is no page. */
function refuseUnreadableAddress(): void {
  try {
    decodeURIComponent(location.pathname)
  } catch {
    history.replaceState(null, '', `/${encodeURIComponent(location.pathname)}`)
  }
}
