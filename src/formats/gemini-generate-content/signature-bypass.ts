/**
 * Google's documented stand-in where no signature is known: a Gemini 3 refuses calls of the current turn without one.
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export const SIGNATURE_BYPASS = 'skip_thought_signature_validator'

/** True for a stand-in that a caller sent (Gemini CLI does): it says that there is no signature. */
export function isSignatureBypass(value: string): boolean {
  return value === SIGNATURE_BYPASS || value === 'context_engineering_is_the_way_to_go'
}
