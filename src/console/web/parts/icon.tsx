/** Line drawings of 20 by 20, in the colour of the text. They say nothing that the text beside them does not. */
const PATHS = {
  overview: 'M3 10.5 10 4l7 6.5M5 9v7h10V9',
  key: 'M12.5 3.5a4 4 0 1 1-3.4 6.1L3 15.7V17h2.5v-1.8h1.8v-1.8h1.8l1.5-1.5M13.4 6.6h.01',
  requests: 'M4 5h12M4 10h12M4 15h7',
  billing: 'M3 6.5h14v9H3zM3 9.5h14M6 13h3',
  playground: 'M4 4.5h12v8.5H9l-3.5 3V13H4z',
  models: 'M10 3l6 3.5v7L10 17l-6-3.5v-7zM4 6.5l6 3.5 6-3.5M10 10v7',
  settings: 'M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4',
  accounts:
    'M3 16.5c.6-3 2.6-4.5 5-4.5s4.4 1.5 5 4.5M8 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM13 4a3 3 0 0 1 0 5.5M15 12.4c1.200.7 1.800 2 2.100 4.100',
  users:
    'M4 17c.7-3.200 3-4.800 6-4.800s5.300 1.600 6 4.800M10 10a3.300 3.300 0 1 0 0-6.600 3.300 3.300 0 0 0 0 6.600z',
  channels: 'M4 10h4M12 6h4M12 14h4M8 10c2 0 2-4 4-4M8 10c2 0 2 4 4 4',
  prices: 'M3.500 10.500V4h6.500l7 7-6.500 6.500zM7 7.500h.01',
  redeem: 'M3 6h14v3a1.500 1.500 0 0 0 0 3v3H3v-3a1.500 1.500 0 0 0 0-3zM12 6v9',
  system: 'M3 10h3l2-5 4 10 2-5h3',
  audit: 'M10 3l6 2.500v4c0 4-2.600 6.400-6 7.500-3.400-1.100-6-3.500-6-7.500v-4zM7.500 10l2 2 3.500-4',
  log: 'M5 3h7l3 3v11H5zM8 9h4M8 12.500h4',
  menu: 'M3 6h14M3 10h14M3 14h14',
  close: 'M5 5l10 10M15 5 5 15',
  check: 'M4.500 10.500l3.500 3.500 7.500-8',
  copy: 'M7 7V4h9v9h-3M4 7h9v9H4z',
  sun: 'M10 13.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM10 2v2M10 16v2M2 10h2M16 10h2M4.500 4.500l1.400 1.400M14.100 14.100l1.400 1.400M4.500 15.500l1.400-1.400M14.100 5.900l1.400-1.400',
  moon: 'M16 12.200A6.500 6.500 0 0 1 7.800 4 6.500 6.500 0 1 0 16 12.200z',
  system_theme: 'M3 4.500h14v9H3zM7.500 17h5M10 13.500V17',
  info: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 9.500V13M10 6.800h.01',
  warning: 'M10 3.500 17.500 16.500h-15zM10 8.500v3.500M10 14.300h.01',
  plus: 'M10 4v12M4 10h12',
  exit: 'M8 4H4v12h4M9 10h8M14 7l3 3-3 3',
  gate: 'M4 17V7.500L10 3l6 4.500V17M4 10h12M7.300 17v-7M10 17v-7M12.700 17v-7',
} as const

/** The pictures there are. */
export type IconName = keyof typeof PATHS

/** A picture beside words, which say all that it does; `size` in pixels. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
