import { encodeMedia } from '@/formats/gemini-generate-content/media.ts'
import type { ModelTraits } from '@/formats/gemini-generate-content/models.ts'
import { SIGNATURE_BYPASS } from '@/formats/gemini-generate-content/signature-bypass.ts'
import { FORMAT, type WirePart } from '@/formats/gemini-generate-content/wire.ts'
import type { Losses } from '@/formats/losses.ts'
import { carrierOf, mayBeSigned } from '@/formats/signatures/carried-signature.ts'
import { phaseOf } from '@/formats/signatures/phase.ts'
import { signatureFor } from '@/formats/signatures/signature.ts'
import { wrappedInput } from '@/formats/tools/call-input.ts'
import type { MediaPart, Part, ReasoningPart, Signature } from '@/generation/part.ts'
import { isJsonObject, present } from '@/json/json.ts'

/** What parts are written for. */
export interface PartDestination {
  traits: ModelTraits
  vendor: string
  losses: Losses
}

/** A part of a user's turn that is no tool result. */
export function encodeUserPart(part: Part, to: PartDestination): WirePart[] {
  switch (part.type) {
    case 'text':
      if (part.cache !== undefined) to.losses.add('cacheMark')
      return part.text === '' ? [] : [{ text: part.text }]
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }]
    case 'media':
      return encodeSaidMedia(part, to)
    case 'opaque':
      if (part.format === FORMAT && isJsonObject(part.value)) return [part.value]
      to.losses.add('extension', part.name)
      return []
    case 'reasoning':
    case 'tool-call':
    case 'tool-result':
      return []
    default:
      return part satisfies never
  }
}

/** None for a document of no text. */
function encodeSaidMedia(part: MediaPart, to: PartDestination): WirePart[] {
  const level = to.traits.mediaResolution ? RESOLUTION_LEVELS[part.detail ?? 'auto'] : undefined
  const media = encodeMedia(level === undefined ? part : { ...part, detail: undefined }, to)
  return media.text === '' ? [] : [present({ ...media, mediaResolution: level && { level } })]
}

/** https://ai.google.dev/gemini-api/docs/generate-content/media-resolution */
const RESOLUTION_LEVELS = {
  auto: undefined,
  low: 'MEDIA_RESOLUTION_LOW',
  high: 'MEDIA_RESOLUTION_HIGH',
  original: 'MEDIA_RESOLUTION_ULTRA_HIGH',
} as const

/** The parts of a model's turn, its signatures on the parts they belong to. */
export function encodeModelParts(parts: readonly Part[], to: PartDestination): WirePart[] {
  const carried = carriedSignatures(parts, to)
  const encoded = parts.flatMap(part => encodeModelPart(part, carried.get(part), to))
  // Models that make images look at the first part of each turn of theirs, and at all images.
  if (!to.traits.refusesUnsignedImages) return encoded
  return encoded.map((part, index) =>
    index === 0 || part.inlineData !== undefined ? { thoughtSignature: SIGNATURE_BYPASS, ...part } : part,
  )
}

/** The signatures that came in reasoning parts of their own, by the parts where Google wants them. */
function carriedSignatures(parts: readonly Part[], to: PartDestination): Map<Part, string> {
  const carried = new Map<Part, string>()
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'reasoning') continue
    const value = signatureFor(part.signature, FORMAT, to.vendor)
    if (value === undefined) continue
    if ([parts[index - 1], parts[index + 1]].some(beside => signatureOf(beside) === value)) continue
    carried.set(carrierOf(parts, part, place => carried.has(place)) ?? part, value)
  }
  return carried
}

function signatureOf(part: Part | undefined): string | undefined {
  return part !== undefined && mayBeSigned(part) ? part.signature?.value : undefined
}

function encodeModelPart(part: Part, carried: string | undefined, to: PartDestination): WirePart[] {
  switch (part.type) {
    case 'text': {
      if (part.cache !== undefined) to.losses.add('cacheMark')
      const thoughtSignature = carried ?? ownSignature(part.signature, to)
      if (part.text === '' && thoughtSignature === undefined) return []
      return [present({ text: part.text, thoughtSignature })]
    }
    case 'reasoning':
      return encodeReasoning(part, carried, to)
    case 'tool-call': {
      if (part.cache !== undefined) to.losses.add('cacheMark')
      const id = to.traits.callIds ? part.callId : undefined
      const functionCall = present({ id, name: part.name, args: wrappedInput(part.kind, part.input) })
      return [present({ functionCall, thoughtSignature: carried ?? ownSignature(part.signature, to) })]
    }
    case 'media': {
      const thoughtSignature = carried ?? ownSignature(part.signature, to)
      return encodeSaidMedia(part, to).map(media => present({ ...media, thoughtSignature }))
    }
    default:
      return encodeUserPart(part, to)
  }
}

/** Thoughts go back only with a signature of their own: without one Google has no use for them. */
function encodeReasoning(part: ReasoningPart, carried: string | undefined, to: PartDestination): WirePart[] {
  ownSignature(part.signature, to)
  if (carried === undefined) {
    if (part.texts.join('') !== '') to.losses.add('reasoningHistory')
    return []
  }
  return [{ text: part.texts.join('\n\n'), thought: true, thoughtSignature: carried }]
}

/** The signature if this upstream made it; a foreign one is a loss. (A phase is a hint, and OpenAI's.) */
function ownSignature(signature: Signature | undefined, to: PartDestination): string | undefined {
  if (phaseOf(signature) !== undefined) return undefined
  const value = signatureFor(signature, FORMAT, to.vendor)
  // An empty one was made by nobody: some formats must write one where there was none.
  if (value === undefined && signature !== undefined && signature.value !== '')
    to.losses.add('reasoningHistory')
  return value
}
