/** A request as the simulator received it. Keys are cut to their last four characters; the body is kept byte for byte. */
export interface Recording {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  bodyBase64: string
}

const MOST_RECORDINGS = 1000
const SECRET_HEADERS = new Set(['authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie'])

/** The requests that asked to be recorded, the newest thousand of them. */
export class Recordings {
  #kept: Recording[] = []

  all(): readonly Recording[] {
    return this.#kept
  }

  add(request: Request, body: Uint8Array): void {
    this.#kept.push(recordingOf(request, body))
    if (this.#kept.length > MOST_RECORDINGS) this.#kept.shift()
  }

  clear(): void {
    this.#kept = []
  }
}

function recordingOf(request: Request, body: Uint8Array): Recording {
  const url = new URL(request.url)
  if (url.searchParams.has('key')) url.searchParams.set('key', redact(url.searchParams.get('key') ?? ''))
  const headers: Record<string, string> = {}
  for (const [name, value] of request.headers)
    headers[name] = SECRET_HEADERS.has(name) ? redact(value) : value
  return {
    method: request.method,
    path: url.pathname,
    query: url.search,
    headers,
    bodyBase64: Buffer.from(body).toString('base64'),
  }
}

function redact(secret: string): string {
  return `***${secret.slice(-4)}`
}
