/** How vendors say that a signature, or encrypted reasoning, is none of theirs. */
const SAYINGS: readonly RegExp[] = [
  // OpenAI, Azure
  /invalid_encrypted_content/i,
  /encrypted content\b.{0,200}\bcould not be (?:verified|decrypted)/is,
  // Anthropic
  /invalid\W{1,3}signature\W{1,3}in\W{1,3}thinking\W{1,3}block/i,
  // Gemini
  /thought[ _]?signature\b.{0,40}\b(?:not valid|invalid|corrupted)/i,
  /(?:invalid|corrupted)\W{1,3}thought[ _]?signature/i,
]

/** True when an upstream's complaint is about reasoning of earlier turns that it did not make. */
export function saysForeignReasoning(status: number, code: string | undefined, message: string): boolean {
  if (status !== 400 && status !== 422) return false
  const said = `${code ?? ''} ${message}`
  return SAYINGS.some(saying => saying.test(said))
}
