/**
 * Google's documented stand-in where no signature is known: a Gemini 3 refuses calls of the current turn without one.
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export const SIGNATURE_BYPASS = 'skip_thought_signature_validator'

/** The field is one of bytes: Gemini CLI writes the words, LiteLLM and Google's SDK for Python their base64. */
const BYPASSES: ReadonlySet<string> = new Set(
  [SIGNATURE_BYPASS, 'context_engineering_is_the_way_to_go'].flatMap(words => [words, btoa(words)]),
)

/** True for a stand-in that a caller sent: it says that there is no signature. */
export function isSignatureBypass(value: string): boolean {
  return BYPASSES.has(value)
}
