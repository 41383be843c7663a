import type { GatewayError } from '@/errors/gateway-error.ts'

/** How redirects are followed. */
export interface RedirectRules {
  /** Most of them, one after the other. */
  most: number
  /** Fetches what stands where a redirect leads. @throws where that is no address to go to */
  fetch: (url: string, from: string) => Promise<Response>
  /** The error for redirects that lead to no answer. */
  lost: (how: string) => GatewayError
}

/**
 * The answer at the end of redirects. None is followed by fetch itself, which would look at no address before it calls.
 * @param from where the first answer came from
 * @throws what the rules throw
 */
export async function followRedirects(
  first: Response,
  from: string,
  rules: RedirectRules,
): Promise<Response> {
  let response = first
  let url = from
  for (let hops = 0; isRedirect(response); hops += 1) {
    const location = response.headers.get('location')
    await response.body?.cancel()
    if (hops === rules.most) throw rules.lost(`leads through more than ${rules.most} redirects`)
    if (location === null || !URL.canParse(location, url)) throw rules.lost('leads nowhere')
    const next = new URL(location, url).href
    response = await rules.fetch(next, url)
    url = next
  }
  return response
}

function isRedirect({ status }: Response): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}
