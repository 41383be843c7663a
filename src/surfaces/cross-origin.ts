const METHODS = 'GET, HEAD, POST, DELETE'
/** For how long a browser may remember the answer to its question; none does for longer. */
const REMEMBERED_S = 7200

/** Which pages may call the API from a browser (CORS): `*`, or the origins named. A key goes with every call, never a cookie. */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins)
  }

  /** What a browser asks before the call of a page; undefined for everything else, and for pages that may not call. */
  preflight(request: Request): Response | undefined {
    if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method'))
      return undefined
    const origin = this.#allowed(request)
    if (origin === undefined) return undefined
    const asked = request.headers.get('access-control-request-headers')
    return new Response(null, {
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': METHODS,
        ...(asked !== null && { 'access-control-allow-headers': asked }),
        'access-control-max-age': String(REMEMBERED_S),
        vary: 'origin, access-control-request-headers',
      },
    })
  }

  /** Lets the page that asked read the answer, its headers included. What a cache keeps of another's is not for it. */
  allow(request: Request, response: Response): void {
    if (!this.#origins.has('*')) response.headers.append('vary', 'origin')
    const origin = this.#allowed(request)
    if (origin === undefined) return
    response.headers.set('access-control-allow-origin', origin)
    response.headers.set('access-control-expose-headers', '*')
  }

  #allowed(request: Request): string | undefined {
    const origin = request.headers.get('origin')
    if (origin === null) return undefined
    if (this.#origins.has('*')) return '*'
    return this.#origins.has(origin) ? origin : undefined
  }
}
