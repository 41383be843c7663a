import { keyStore } from '@/accounts/key-store.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { Console } from './deployment.ts'
import { ConsoleError } from './failure.ts'

interface PlaygroundCall {
  accountId: number
  /** Of the API host. */
  path: string
  body: unknown
  strict: boolean
  signal: AbortSignal
}

const KEY_LIFETIME_MS = 3_600_000
/** A key is not begun with when it is about to expire. */
const KEY_RESERVE_MS = 300_000

/** What the page may see of the API host's answer. */
const SHOWN_HEADERS = /^(content-type|x-request-id|request-id|retry-after|x-tollgate-[a-z-]+)$/

/**
 * Calls the API host as any client does, so that the playground shows what clients get: the same limits, the same
 * bill. The key is the console's own: hidden, an hour long, in memory here and as a hash in the database; it never
 * goes to the page.
 */
export class Playground {
  readonly #console: Console
  readonly #keys = new Map<number, { key: Promise<string>; until: number }>()

  constructor(console: Console) {
    this.#console = console
  }

  /** The answer as it comes: its body is read only as fast as the page reads. */
  async call(asked: PlaygroundCall): Promise<Response> {
    const answer = await this.#ask(asked)
    if (answer.status !== 401) return shown(answer)
    // The key was ended with all others when the account was closed, and that is open again.
    await answer.body?.cancel()
    this.#keys.delete(asked.accountId)
    return shown(await this.#ask(asked))
  }

  async #ask({ accountId, path, body, strict, signal }: PlaygroundCall): Promise<Response> {
    const key = await this.#keyOf(accountId)
    return fetch(`${this.#console.apiUrl}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal,
      redirect: 'manual',
      // Upstreams may have one; this is our own address, and a key.
      proxy: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        ...(strict ? { 'x-tollgate-strict': 'true' } : {}),
      },
    }).catch((cause: unknown) => {
      throw new ConsoleError('unavailable', 'The API host does not answer', { cause })
    })
  }

  #keyOf(accountId: number): Promise<string> {
    const now = this.#console.clock.now()
    const known = this.#keys.get(accountId)
    if (known !== undefined && now < known.until - KEY_RESERVE_MS) return known.key
    for (const [id, { until }] of this.#keys) if (until <= now) this.#keys.delete(id)
    const until = now + KEY_LIFETIME_MS
    const key = this.#makeKey(accountId, new Date(until))
    this.#keys.set(accountId, { key, until })
    key.catch(() => this.#keys.delete(accountId))
    return key
  }

  async #makeKey(accountId: number, expiresAt: Date): Promise<string> {
    const keys = keyStore(this.#console.database)
    const made = keys.createKey({ accountId, name: 'playground', expiresAt, hidden: true })
    const { key } = await made.catch((cause: unknown) => {
      if (!(cause instanceof Refusal)) throw cause
      // Who asks here wants an answer and knows of no key.
      throw new ConsoleError(
        'refused',
        'This account is not active: it is served nothing until it is resumed',
        { cause },
      )
    })
    return key
  }
}

function shown({ body, status, headers }: Response): Response {
  return new Response(body, { status, headers: [...headers].filter(([name]) => SHOWN_HEADERS.test(name)) })
}
