import {
  asArray,
  asNumber,
  asObject,
  asObjects,
  asString,
  type JsonObject,
  type JsonValue,
  parseObject,
} from '@/json/json.ts'

/**
 * OpenRouter's `reasoning_details`: entries of text, summary or encrypted data, which must come back unchanged; and
 * LiteLLM's `thinking_blocks`, which are Anthropic's. They arrive in pieces; this puts them together again.
 */
export class ReasoningDetails {
  #entries: JsonObject[] = []

  /** Adds the entries of a delta; gives their visible text. */
  push(delta: readonly JsonValue[]): string {
    let text = ''
    for (const value of delta) {
      const entry = asObject(value)
      if (entry === undefined) continue
      text += visibleText(entry)
      this.#add(entry)
    }
    return text
  }

  /** The entries as JSON text if one of them holds a signature or encrypted data, else undefined. Starts anew. */
  take(): string | undefined {
    const entries = this.#entries
    this.#entries = []
    return entries.some(isSigned) ? JSON.stringify(entries) : undefined
  }

  #add(entry: JsonObject): void {
    const last = this.#entries.findLast(known => isSamePiece(known, entry))
    if (last === undefined) {
      this.#entries.push({ ...entry })
      return
    }
    for (const field of ['text', 'summary', 'thinking']) {
      const piece = asString(entry[field])
      if (piece !== undefined) last[field] = (asString(last[field]) ?? '') + piece
    }
    if (hasSignature(entry)) last['signature'] = entry['signature']
  }
}

function isSamePiece(known: JsonObject, entry: JsonObject): boolean {
  return (
    known['type'] === entry['type'] &&
    asNumber(known['index']) === asNumber(entry['index']) &&
    entry['data'] === undefined &&
    // Entries without a number end in their signature.
    (entry['index'] !== undefined || !hasSignature(known))
  )
}

function isSigned(entry: JsonObject): boolean {
  return hasSignature(entry) || asString(entry['data']) !== undefined
}

function hasSignature({ signature }: JsonObject): boolean {
  return typeof signature === 'string' && signature !== ''
}

/** What of an entry is for reading. */
export function visibleText(entry: JsonObject): string {
  return asString(entry['text']) ?? asString(entry['summary']) ?? asString(entry['thinking']) ?? ''
}

/** Entries that were kept as a signature's value. Empty when the value is something else. */
export function storedDetails(value: string): JsonObject[] {
  return asObjects(parseObject(`{"entries":${value}}`)?.['entries'])
}

/** Whether an entry is one of `thinking_blocks`. */
export function isThinkingBlock({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** Mistral's thinking part, as it takes one. */
export function thinkingPart(text: string): JsonObject {
  return { type: 'thinking', thinking: [{ type: 'text', text }] }
}

/** What one says: `{type: "thinking", thinking: [{type: "text", text}]}`, or the text itself. */
export function thinkingText(part: JsonObject): string {
  const thinking = part['thinking'] ?? part['text']
  if (typeof thinking === 'string') return thinking
  return asArray(thinking)
    .map(piece => asString(asObject(piece)?.['text']) ?? '')
    .join('')
}
