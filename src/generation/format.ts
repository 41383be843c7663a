/**
 * The wire formats that Tollgate speaks, under the API's own name: vendor, then API.
 * A surface (what callers use) and a channel (what an upstream speaks) each have exactly one.
 */
export const FORMATS = [
  'openai-chat-completions',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate-content',
] as const

/** A wire format that Tollgate speaks. */
export type Format = (typeof FORMATS)[number]
