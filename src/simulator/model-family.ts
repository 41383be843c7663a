/** Models from Gemini 3 on demand thought signatures and give their calls an id. */
export function isGemini3(model: string): boolean {
  return /(^|\/)gemini-[3-9]/.test(model)
}

/** OpenAI's newer models refuse `max_tokens`. */
export function refusesMaxTokens(model: string): boolean {
  return /(^|\/)(o\d|gpt-[5-9])/.test(model)
}
