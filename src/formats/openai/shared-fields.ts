import type { Format } from '@/generation/format.ts'
import { asObject, type JsonObject } from '@/json/json.ts'

const HINTS = ['prompt_cache_retention', 'prompt_cache_options'] as const

/** What of `prompt_cache_options` both formats have; the rest names answers that only Responses keeps. */
const OPTIONS: ReadonlySet<string> = new Set(['mode', 'ttl'])

/** A hint that OpenAI spells alike in both of its formats, and no other vendor has. */
export function isSharedHint(name: string): boolean {
  return HINTS.some(hint => hint === name)
}

/** The hints of a request, for the format that it is not in. */
export function sharedHints(body: JsonObject, other: Format): Partial<Record<Format, JsonObject>> {
  const said = HINTS.filter(name => (body[name] ?? null) !== null && isShared(name, body))
  return said.length === 0 ? {} : { [other]: Object.fromEntries(said.map(name => [name, body[name]])) }
}

function isShared(name: string, body: JsonObject): boolean {
  const options = name === 'prompt_cache_options' ? asObject(body[name]) : {}
  return options !== undefined && Object.keys(options).every(key => OPTIONS.has(key))
}

/** The longest that `user` and `prompt_cache_key` may be. */
const MAX_KEY = 64

/** A key that OpenAI would refuse for its length keeps its one use as a hash: being the same for the same caller. */
export function fitKey(key: string | undefined): string | undefined {
  if (key === undefined || key.length <= MAX_KEY) return key
  return new Bun.CryptoHasher('sha256').update(key).digest('hex')
}
