import type { Signature } from '@/generation/part.ts'
import type { JsonValue } from '@/json/json.ts'

/**
 * A message's `phase` (`commentary`, `final_answer`) rides on its text parts as a signature: like one, it means
 * something only to its own format, and newer models answer worse when their messages come back without it.
 */
const MARK = 'phase:'

/** The signature of a message's texts; undefined for a message without a phase. */
export function phaseSignature(phase: JsonValue | undefined): Signature | undefined {
  if (typeof phase !== 'string' || phase === '') return undefined
  return { format: 'openai-responses', vendor: undefined, value: MARK + phase }
}

/** The phase that a text part's signature carries. */
export function phaseOf(signature: Signature | undefined): string | undefined {
  if (signature?.format !== 'openai-responses' || !signature.value.startsWith(MARK)) return undefined
  return signature.value.slice(MARK.length)
}
