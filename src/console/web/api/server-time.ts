/** A clock that is less than this from the server's is as good. */
const NEAR_MS = 60_000

let aheadMs = 0

/** Takes the time from an answer of the console, as its head says it. */
export function hearTime(date: string | null): void {
  const difference = Date.parse(date ?? '') - Date.now()
  if (!Number.isNaN(difference)) aheadMs = Math.abs(difference) < NEAR_MS ? 0 : difference
}

/** The time by the server, which dates whatever is shown, in ms since 1970: this machine's clock may be hours wrong. */
export function serverNow(): number {
  return Date.now() + aheadMs
}
