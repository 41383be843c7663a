/** The address of the sign-in, which leads on to `url` afterwards. */
export function signInAddress(url: string): string {
  return url === '/' ? '/sign-in' : `/sign-in?then=${encodeURIComponent(url)}`
}

/** The address of another page before the sign-in, `path`, which leads on to where the one at `url` does. */
export function besideGate(url: string, path: string): string {
  const then = new URLSearchParams(url.split('?')[1] ?? '').get('then')
  return then === null ? path : `${path}?then=${encodeURIComponent(then)}`
}

/**
 * Where whoever signed in at `url` goes on to: only ever a path of this console, whatever a link says. It is read as a
 * browser does, which takes `//host`, `/\host` and even a tab after the first slash for another site.
 * @param origin the console's own
 */
export function afterSignIn(url: string, origin: string): string {
  const then = new URLSearchParams(url.split('?')[1] ?? '').get('then') ?? '/'
  const isOurs = then.startsWith('/') && URL.canParse(then, origin) && new URL(then, origin).origin === origin
  return isOurs ? then : '/'
}
