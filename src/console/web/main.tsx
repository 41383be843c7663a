import { render } from 'preact'
import { App } from './app.tsx'
import { watchLeaving } from './parts/leaving.ts'

const root = document.getElementById('app')
watchLeaving()
if (root !== null) render(<App />, root)
