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
  // Groq, Cerebras, Mistral and others that take no thoughts back, or not in this field
  /\breasoning_content\b.{0,200}\b(?:unsupported|not (?:supported|permitted|allowed)|unexpected|unknown)/is,
  /\b(?:unknown|unexpected|unrecognized|remove the)\b.{0,80}\breasoning_content\b/is,
  /\bmessages\W{0,3}\d+\W{0,3}reasoning\b.{0,80}\bnot supported\b/is,
  // Fireworks, and gateways before it
  /\bnot permitted\b.{0,40}\bmessages\W{0,3}\d+\W{0,3}reasoning(?:_content|_details)?\b/is,
]

/** True when an upstream's complaint is about reasoning of earlier turns, which it did not make or does not want. */
export function saysForeignReasoning(
  status: number,
  { code, param, text }: { code?: string | undefined; param?: string | undefined; text: string },
): boolean {
  if (status !== 400 && status !== 422) return false
  const said = `${code ?? ''} ${param ?? ''} ${text}`
  return SAYINGS.some(saying => saying.test(said))
}
