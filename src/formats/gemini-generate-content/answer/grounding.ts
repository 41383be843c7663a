import { FORMAT } from '@/formats/gemini-generate-content/wire.ts'
import { endsInHalfPair } from '@/formats/surrogates.ts'
import type { Citation } from '@/generation/part.ts'
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'

/** A text of a candidate so far. */
export interface TextSoFar {
  /** Where it stands among the candidate's parts. */
  partIndex: number
  text: string
}

/** A source and the text that it is one of. */
interface Cited<T extends TextSoFar> {
  of: T
  citation: Citation
}

/**
 * The sources that a candidate's `groundingMetadata` and `citationMetadata` name for its texts. Google counts bytes of
 * UTF-8; citations count UTF-16 units.
 * @param isWhole the candidate has ended: what its sources are about will not be told later
 */
export function decodeCitations<T extends TextSoFar>(
  candidate: JsonObject,
  texts: readonly T[],
  isWhole: boolean,
): Cited<T>[] {
  const grounding = asObject(candidate['groundingMetadata'])
  const sources = asObject(candidate['citationMetadata'])
  if (grounding === undefined && sources === undefined) return []
  const read = texts.map(of => ({ of, bytes: Buffer.from(of.text, 'utf8') }))
  const last = read.findLast(({ of }) => of.text !== '') ?? read.at(-1)
  if (last === undefined) return []
  return [
    ...decodeSupports(grounding, [last, ...read]),
    ...(isWhole ? decodeUntied(grounding) : []).map(citation => ({ of: last.of, citation })),
    ...citedIn(sources).map(value => ({
      of: last.of,
      citation: decodeSource(asObject(value) ?? {}, last.bytes),
    })),
  ]
}

/** Whether a candidate names sources, whatever they are sources of. */
export function namesSources(candidate: JsonObject): boolean {
  const chunks = asArray(asObject(candidate['groundingMetadata'])?.['groundingChunks'])
  return chunks.length > 0 || citedIn(asObject(candidate['citationMetadata'])).length > 0
}

function citedIn(metadata: JsonObject | undefined): JsonValue[] {
  return asArray(metadata?.['citationSources'] ?? metadata?.['citations'])
}

/** A text as Google counts it. */
interface ReadText<T> {
  of: T
  bytes: Buffer
}

/** @param texts the likeliest first */
function decodeSupports<T extends TextSoFar>(
  grounding: JsonObject | undefined,
  texts: readonly ReadText<T>[],
): Cited<T>[] {
  const chunks = asArray(grounding?.['groundingChunks'])
  return asArray(grounding?.['groundingSupports']).flatMap(value => {
    const support = asObject(value) ?? {}
    const segment = asObject(support['segment']) ?? {}
    const place = placeOf(segment, texts)
    return asArray(support['groundingChunkIndices']).flatMap(index => {
      const chunk = asObject(chunks[Number(index)])
      const source = chunk === undefined ? undefined : decodeChunk(chunk)
      if (place === undefined || source === undefined) return []
      const { of, start, end } = place
      return { of, citation: { ...source, citedText: asString(segment['text']), start, end } }
    })
  })
}

/** What Google found and does not tie to a passage: sources of all the answer. */
function decodeUntied(grounding: JsonObject | undefined): Citation[] {
  if (asArray(grounding?.['groundingSupports']).length > 0) return []
  return asArray(grounding?.['groundingChunks']).flatMap(value => decodeChunk(asObject(value) ?? {}) ?? [])
}

function decodeChunk(chunk: JsonObject): Citation | undefined {
  const source = ['web', 'retrievedContext', 'maps', 'image']
    .map(kind => asObject(chunk[kind]))
    .find(known => known !== undefined)
  if (source === undefined) return undefined
  return {
    url: asString(source['uri']) ?? asString(source['sourceUri']),
    title: asString(source['title']),
    citedText: undefined,
    start: undefined,
    end: undefined,
    wire: { format: FORMAT, value: chunk },
  }
}

/**
 * Where a segment stands: in the text that its part index names, unless its words are somewhere else. The index is often
 * left out, and counts parts of which a stream has the pieces.
 */
function placeOf<T extends TextSoFar>(
  segment: JsonObject,
  texts: readonly ReadText<T>[],
): { of: T; start: number | undefined; end: number | undefined } | undefined {
  const partIndex = asNumber(segment['partIndex']) ?? 0
  const words = asString(segment['text']) ?? ''
  const named = texts.filter(({ of }) => of.partIndex === partIndex)
  const places = [...named, ...texts].map(({ of, bytes }) => ({
    of,
    start: utf16Offset(bytes, asNumber(segment['startIndex']) ?? 0),
    end: utf16Offset(bytes, asNumber(segment['endIndex'])),
  }))
  if (words === '') return places[0]
  const exact = places.find(({ of, start, end }) => of.text.slice(start, end) === words)
  const holder = places.find(({ of }) => of.text.includes(words))?.of
  if (exact !== undefined || holder === undefined) return exact ?? places[0]
  const start = holder.text.indexOf(words)
  return { of: holder, start, end: start + words.length }
}

function decodeSource(source: JsonObject, bytes: Buffer): Citation {
  return {
    url: asString(source['uri']),
    title: asString(source['title']),
    citedText: undefined,
    start: utf16Offset(bytes, asNumber(source['startIndex']) ?? 0),
    end: utf16Offset(bytes, asNumber(source['endIndex'])),
    wire: { format: FORMAT, value: source },
  }
}

function utf16Offset(bytes: Buffer, offset: number | undefined): number | undefined {
  return offset === undefined ? undefined : bytes.subarray(0, offset).toString('utf8').length
}

/** A text of the answer with its sources, at the place among its parts where it stands. */
export interface CitedText {
  partIndex: number
  text: string
  citations: Citation[]
}

/** `groundingMetadata` for texts with sources; undefined when there are none. An empty text is no part of the answer. */
export function encodeGrounding(texts: readonly CitedText[]): JsonObject | undefined {
  const chunks: JsonObject[] = []
  const supports = texts.flatMap(({ partIndex, text, citations }) =>
    (text === '' ? [] : citations).map(citation => {
      chunks.push(encodeChunk(citation))
      const start = wholeCharacters(text, citation.start ?? 0)
      const end = wholeCharacters(text, citation.end ?? text.length)
      const segment = present({
        partIndex: partIndex === 0 ? undefined : partIndex,
        startIndex: Buffer.byteLength(text.slice(0, start)),
        endIndex: Buffer.byteLength(text.slice(0, end)),
        text: text.slice(start, end),
      })
      return { segment, groundingChunkIndices: [chunks.length - 1] }
    }),
  )
  return supports.length === 0 ? undefined : { groundingChunks: chunks, groundingSupports: supports }
}

/** The offset, behind the character that it tears apart: UTF-8 has no place within one. */
function wholeCharacters(text: string, offset: number): number {
  return endsInHalfPair(text.slice(0, offset)) ? offset + 1 : offset
}

/** A page of the web always has an address, without which the AI SDK takes no answer; a document need not have one. */
function encodeChunk({ url, title }: Citation): JsonObject {
  return url === undefined ? { retrievedContext: present({ title }) } : { web: present({ uri: url, title }) }
}
