import { thinkingText, visibleText } from '@/formats/openai-chat-completions/reasoning-details.ts'
import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import { unwrapSignature } from '@/formats/signatures/signature.ts'
import { type Part, type ReasoningPart, reasoningPart } from '@/generation/part.ts'
import { asArray, asObject, asObjects, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * Reads the reasoning that an assistant message brings back. Entries of `reasoning_details` that we wrote give every
 * thought its own signature again; those of another vendor stay together as they are. Without entries the text of
 * `reasoning_content` or `reasoning` is one thought without a signature.
 */
export function decodeReasoningHistory(message: JsonObject): Part[] {
  const parts: Part[] = []
  const foreign: JsonObject[] = []
  for (const entry of asObjects(message['reasoning_details'] ?? litellmDetails(message))) {
    const part = ownEntry(entry)
    if (part === undefined) foreign.push(entry)
    else parts.push(part)
  }
  if (foreign.length > 0) parts.push(foreignEntries(foreign))
  const text =
    asString(message['reasoning_content']) || asString(message['reasoning']) || thinkingParts(message)
  if (text === '') return parts
  if (!parts.some(part => part.type === 'reasoning' && part.texts.length > 0)) addText(parts, text)
  return parts
}

/** LiteLLM keeps there what OpenAI's answers do not have, and agents that stand on it bring it back so. */
function litellmDetails(message: JsonObject): JsonValue | undefined {
  return asObject(message['provider_specific_fields'])?.['reasoning_details']
}

/** An entry that we wrote, by its wrapped signature. */
function ownEntry(entry: JsonObject): ReasoningPart | undefined {
  const sealed = asString(entry['signature']) ?? asString(entry['data'])
  if (sealed === undefined) return undefined
  const signature = unwrapSignature(sealed, FORMAT)
  if (signature.vendor === undefined && signature.format === FORMAT) return undefined
  const redacted = entry['type'] === 'reasoning.encrypted'
  return thought(visibleText(entry), { signature, id: asString(entry['id']), redacted })
}

function foreignEntries(entries: readonly JsonObject[]): ReasoningPart {
  const signature = { format: FORMAT, vendor: undefined, value: JSON.stringify(entries) } as const
  return thought(entries.map(visibleText).join(''), { signature })
}

/** The text of the whole message goes to the only thought without one; else it is a thought of its own, first. */
function addText(parts: Part[], text: string): void {
  const [only] = parts
  if (parts.length === 1 && only?.type === 'reasoning' && !only.redacted)
    parts[0] = { ...only, texts: [text] }
  else parts.unshift(thought(text))
}

/** Mistral's thinking parts inside the content. */
function thinkingParts(message: JsonObject): string {
  return asArray(message['content'])
    .map(value => asObject(value))
    .map(part => (part?.['type'] === 'thinking' ? thinkingText(part) : ''))
    .join('')
}

function thought(text: string, known: Partial<ReasoningPart> = {}): ReasoningPart {
  return reasoningPart({ texts: text === '' ? [] : [text], ...known })
}
