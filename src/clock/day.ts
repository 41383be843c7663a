/** Whether a text is a day of the calendar, as in 2026-11-20: `Date` would move 31 February into March. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const midnight = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text)
}
