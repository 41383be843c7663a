import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const NAMES = { system: 'as the system', light: 'light', dark: 'dark' } as const
const ICONS = { system: 'system_theme', light: 'sun', dark: 'moon' } as const

/** Goes from the system's theme to light to dark; theme.ts applies the choice at the next start. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(read)
  return (
    <button
      type="button"
      class="button quiet icon small"
      aria-label={`Theme: ${NAMES[theme]}. Change it`}
      title={`Theme: ${NAMES[theme]}`}
      onClick={() => {
        const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
        apply(next)
        setTheme(next)
      }}
    >
      <Icon name={ICONS[theme]} size={18} />
    </button>
  )
}

/** Fires when the theme was changed, for what is painted and not styled. */
export const THEME_EVENT = 'themechange'

function read(): Theme {
  const stored = localStorage.getItem('theme')
  return THEMES.find(theme => theme === stored) ?? 'system'
}

function apply(theme: Theme): void {
  if (theme === 'system') {
    localStorage.removeItem('theme')
    delete document.documentElement.dataset['theme']
  } else {
    localStorage.setItem('theme', theme)
    document.documentElement.dataset['theme'] = theme
  }
  window.dispatchEvent(new Event(THEME_EVENT))
}
