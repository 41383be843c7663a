/** How vendors and open servers say that a prompt is longer than the model's context. */
const SAYINGS: readonly RegExp[] = [
  /context[_ ]?(?:length|window|size|limit)[_ ]?(?:exceeded|error)/i,
  /exceed_context_size/i,
  // OpenAI, Azure, DeepSeek, Mistral, vLLM
  /maximum context length/i,
  /(?:exceeds?|exceeded|exceeding|greater than|larger than|longer than|beyond)\b.{0,40}\bcontext (?:window|length|size|limit)/i,
  /context (?:window|length) exceeds/i,
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
  // Perplexity
  /too_many_prompt_tokens/,
  /tokens \+ `?max_(?:new_)?tokens`? must be <=/i,
]

/** True when an upstream's complaint is about the prompt's length. A rate limit in tokens is not. */
export function saysContextLength(status: number, code: string | undefined, message: string): boolean {
  if (status === 401 || status === 403 || status === 429) return false
  const said = `${code ?? ''} ${message}`
  return SAYINGS.some(saying => saying.test(said))
}
