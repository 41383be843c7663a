import { createHash } from 'node:crypto'
import { wantsStrict } from '@/exchange/admission/strict.ts'

/**
 * SHA-256 of what makes two requests the same one: the path, the query without the key, whether losses are errors, the
 * decoded body. A multipart body is taken without its boundary, which clients draw anew for each try.
 * @throws GatewayError `invalid_request` for a strictness that is none
 */
export function fingerprintOf(request: Request, body: Uint8Array): Uint8Array {
  const url = new URL(request.url)
  url.searchParams.delete('key')
  url.searchParams.sort()
  const hash = createHash('sha256').update(`${url.pathname}?${url.searchParams}\n`)
  if (wantsStrict(request.headers)) hash.update('strict\n')
  const boundary = boundaryOf(request.headers.get('content-type'))
  if (boundary === undefined) return hash.update(body).digest()
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  let from = 0
  for (let at = bytes.indexOf(boundary); at >= 0; at = bytes.indexOf(boundary, from)) {
    hash.update(bytes.subarray(from, at)).update('\0boundary\0')
    from = at + boundary.length
  }
  return hash.update(bytes.subarray(from)).digest()
}

function boundaryOf(contentType: string | null): string | undefined {
  const [, quoted, plain] =
    /^multipart\/.*;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? '') ?? []
  return quoted ?? plain
}
