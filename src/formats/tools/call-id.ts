import type { NameRule } from '@/formats/codec.ts'

/** What Anthropic and OpenAI's Responses accept; of Anthropic's the length is ours. */
const WORD: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

/**
 * A tool call's id as a target accepts it: unchanged where it fits, else a safe prefix and a hash of the whole.
 * Depends on the id alone, so that call and result agree, and every turn writes the same bytes.
 */
export function fitCallId(id: string, rule = WORD): string {
  if (id.length > 0 && id.length <= rule.maxLength && rule.pattern.test(id)) return id
  const hash = new Bun.CryptoHasher('sha256').update(id).digest('hex').slice(0, 24)
  return `call_${hash}`
}
