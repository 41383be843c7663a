import type { Citation } from '@/generation/part.ts'
import { asArray, asNumber, asObject, asString, type JsonObject } from '@/json/json.ts'
import { FORMAT, present } from './wire.ts'

/**
 * The sources that a candidate's `groundingMetadata` and `citationMetadata` name for a text. Google counts bytes of
 * UTF-8; citations count UTF-16 units.
 */
export function decodeCitations(candidate: JsonObject, text: string): Citation[] {
  const grounding = asObject(candidate['groundingMetadata'])
  const sources = asObject(candidate['citationMetadata'])
  if (grounding === undefined && sources === undefined) return []
  const bytes = Buffer.from(text, 'utf8')
  const cited = sources?.['citationSources'] ?? sources?.['citations']
  return [
    ...decodeSupports(grounding, bytes),
    ...asArray(cited).map(value => decodeSource(asObject(value) ?? {}, bytes)),
  ]
}

function decodeSupports(grounding: JsonObject | undefined, bytes: Buffer): Citation[] {
  const chunks = asArray(grounding?.['groundingChunks'])
  return asArray(grounding?.['groundingSupports']).flatMap(value => {
    const support = asObject(value) ?? {}
    const segment = asObject(support['segment']) ?? {}
    const [startIndex, endIndex] = [asNumber(segment['startIndex']) ?? 0, asNumber(segment['endIndex'])]
    return asArray(support['groundingChunkIndices']).flatMap(index => {
      const chunk = asObject(chunks[Number(index)])
      const source =
        asObject(chunk?.['web']) ?? asObject(chunk?.['retrievedContext']) ?? asObject(chunk?.['maps'])
      if (chunk === undefined || source === undefined) return []
      return {
        url: asString(source['uri']),
        title: asString(source['title']),
        citedText: asString(segment['text']),
        start: utf16Offset(bytes, startIndex),
        end: utf16Offset(bytes, endIndex),
        wire: { format: FORMAT, value: chunk },
      }
    })
  })
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
  citations: readonly Citation[]
}

/** `groundingMetadata` for texts with sources; undefined when there are none. An empty text is no part of the answer. */
export function encodeGrounding(texts: readonly CitedText[]): JsonObject | undefined {
  const chunks: JsonObject[] = []
  const supports = texts.flatMap(({ partIndex, text, citations }) =>
    (text === '' ? [] : citations).map(citation => {
      chunks.push({ web: present({ uri: citation.url, title: citation.title }) })
      const [start, end] = [citation.start ?? 0, citation.end ?? text.length]
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
