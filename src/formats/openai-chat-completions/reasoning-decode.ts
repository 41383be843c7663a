import { unwrapSignature } from '@/formats/signatures/signature.ts'
import type { Part, ReasoningPart, Signature } from '@/generation/part.ts'
import { asArray, asObject, asObjects, asString, type JsonObject } from '@/json/json.ts'
import { thinkingText, visibleText } from './reasoning-details.ts'
import { FORMAT } from './wire.ts'

/**
 * Reads the reasoning that an assistant message brings back. Entries of `reasoning_details` that we wrote give every
 * thought its own signature again; those of another vendor stay together as they are. Without entries the text of
 * `reasoning_content` or `reasoning` is one thought without a signature.
 */
export function decodeReasoningHistory(message: JsonObject): Part[] {
  const parts: Part[] = []
  const foreign: JsonObject[] = []
  for (const entry of asObjects(message['reasoning_details'])) {
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

/** An entry that we wrote, by its wrapped signature. */
function ownEntry(entry: JsonObject): ReasoningPart | undefined {
  const sealed = asString(entry['signature']) ?? asString(entry['data'])
  if (sealed === undefined) return undefined
  const signature = unwrapSignature(sealed, FORMAT)
  if (signature.vendor === undefined && signature.format === FORMAT) return undefined
  const isRedacted = entry['type'] === 'reasoning.encrypted'
  return reasoningPart(visibleText(entry), signature, { id: asString(entry['id']), isRedacted })
}

function foreignEntries(entries: readonly JsonObject[]): ReasoningPart {
  const text = entries.map(visibleText).join('')
  const value = JSON.stringify(entries)
  return reasoningPart(
    text,
    { format: FORMAT, vendor: undefined, value },
    { id: undefined, isRedacted: false },
  )
}

/** The text of the whole message goes to the only thought without one; else it is a thought of its own, first. */
function addText(parts: Part[], text: string): void {
  const [only] = parts
  if (parts.length === 1 && only?.type === 'reasoning' && !only.redacted)
    parts[0] = { ...only, texts: [text] }
  else parts.unshift(reasoningPart(text, undefined, { id: undefined, isRedacted: false }))
}

/** Mistral's thinking parts inside the content. */
function thinkingParts(message: JsonObject): string {
  return asArray(message['content'])
    .map(value => asObject(value))
    .map(part => (part?.['type'] === 'thinking' ? thinkingText(part) : ''))
    .join('')
}

function reasoningPart(
  text: string,
  signature: Signature | undefined,
  { id, isRedacted }: { id: string | undefined; isRedacted: boolean },
): ReasoningPart {
  return {
    type: 'reasoning',
    texts: text === '' ? [] : [text],
    raw: false,
    redacted: isRedacted,
    signature,
    id,
  }
}
