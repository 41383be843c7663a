/** How vendors and open servers say that a prompt is longer than the model's context. */
const CONTEXT_LENGTH: readonly RegExp[] = [
  /context[_ ]?(?:length|window|size|limit)[_ ]?(?:exceeded|error)/i,
  /exceed_context_size/i,
  // OpenAI, Azure, DeepSeek, Mistral, vLLM
  /maximum context length/i,
  /(?:exceeds?|exceeded|exceeding|greater than|larger than|longer than|beyond)\b.{0,40}\bcontext (?:window|length|size|limit)/i,
  /context (?:window|length) exceeds/i,
  /\blonger than the maximum model length\b/i,
  // LM Studio, llama.cpp
  /\bcontext length of only \d+ tokens\b/i,
  /\bcontext size has been exceeded\b/i,
  /\breached context length of \d+ tokens\b/i,
  // Anthropic
  /prompt is too long/i,
  // Gemini
  /input token count\b.{0,40}\bexceeds/i,
  // Groq
  /reduce the length of the (?:messages|prompt|input)/i,
  // xAI, z.ai, Copilot
  /maximum prompt length/i,
  /prompt (?:exceeds|token count\b.{0,40}\bexceeds)/i,
  // Moonshot, Qwen, Bedrock, Cohere, Together
  /exceeded model token limit/i,
  /range of input length should be/i,
  /input is too long/i,
  /too many tokens: (?:size|total)/i,
  // Bedrock's Nova, SiliconFlow
  /number of input tokens(?: \(\d+\))? (?:exceeds|has exceeded)/i,
  // Perplexity
  /too_many_prompt_tokens/,
  /tokens \+ `?max_(?:new_)?tokens`? must be <=/i,
]

/** True when an upstream's complaint is about the prompt's length. A rate limit in tokens is not. */
export function saysContextLength(status: number, code: string | undefined, message: string): boolean {
  if (status === 401 || status === 429) return false
  const said = `${code ?? ''} ${message}`
  return CONTEXT_LENGTH.some(saying => saying.test(said))
}

/** How vendors say that a signature, or encrypted reasoning, is none of theirs, or that a part of the reasoning is missing. */
const FOREIGN_REASONING: readonly RegExp[] = [
  // OpenAI, Azure
  /invalid_encrypted_content/i,
  /encrypted content\b.{0,200}\bcould not be (?:verified|decrypted)/is,
  /of type \W?\w+\W? was provided without its required (?:following item|\W?reasoning\W? item)/i,
  // Meta
  /\breferenced reasoning item\b.{0,80}\bwas not found\b/is,
  // Anthropic
  /invalid\W{1,3}(?:signature|data)\W{1,3}in\W{1,3}(?:redacted_)?thinking\W{1,3}block/i,
  // Anthropic, of thoughts that came back in another order: a message of Chat has one place for all of them
  /thinking\W{1,3}blocks in the latest assistant message cannot be modified/i,
  // Gemini
  /thought[ _]?signature\b.{0,40}\b(?:not valid|invalid|corrupted)/i,
  /(?:invalid|corrupted)\W{1,3}thought[ _]?signature/i,
  // Groq, Cerebras, Mistral and others that take no thoughts back, or not in this field
  /\breasoning_content\b.{0,200}\b(?:unsupported|not (?:supported|permitted|allowed)|unexpected|unknown)/is,
  /\b(?:unknown|unexpected|unrecognized|remove the)\b.{0,80}\breasoning_content\b/is,
  /\bmessages\W{0,3}\d+\W{0,3}reasoning\b.{0,80}\bnot supported\b/is,
  // vLLM and llama.cpp, of what others sealed
  /\bencrypted content is not supported\b/i,
  /\bitem\['content'\] is (?:not an array|empty)/,
  // Mistral, of models that do not think
  /\breasoning input is not enabled\b/i,
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
  return FOREIGN_REASONING.some(saying => saying.test(said))
}
