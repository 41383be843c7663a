/**
 * Whether a change was asked for by a page of the console itself: the browser says which page it is from, and no page
 * can say otherwise. The address is the one that people are told, or the one that the request was sent to.
 */
export function isOwnPage(request: Request, publicUrl: string): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = request.headers.get('origin')
  if (origin === null || !URL.canParse(origin)) return false
  if (origin === new URL(publicUrl).origin) return true
  return new URL(origin).host === request.headers.get('host')
}
