import { takesGzip } from '@/net/content-encoding.ts'
import type { Asset, Bundle } from './bundle.ts'

/** Everything that is no API: the pages, which take their data from there. */
export function serveAsset(bundle: Bundle, request: Request, pathname: string): Response | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
  if (ELSEWHERE.test(pathname)) return undefined
  const asset = bundle.assets.get(pathname)
  if (asset !== undefined) return respond(request, asset, 'public, max-age=31536000, immutable')
  // Which page a path is of is decided in the browser. A model's page may end in `.1`, so that a file is known by its folder.
  const isFile = pathname.startsWith('/assets/') || /^\/[^/]*\.[a-z0-9]+$/i.test(pathname)
  return isFile ? undefined : respond(request, bundle.index, 'no-cache')
}

/** What the other listeners serve. A page in its place would tell a client nothing, and a balancer that all is well. */
const ELSEWHERE = /^\/(?:v1|v1alpha|v1beta|healthz|readyz|metrics)(?:\/|$)/

function respond(request: Request, { type, body, gzip }: Asset, cacheControl: string): Response {
  const zipped = takesGzip(request.headers.get('accept-encoding'))
  return new Response(zipped ? gzip : body, {
    headers: {
      'content-type': type,
      'cache-control': cacheControl,
      vary: 'accept-encoding',
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    },
  })
}
