import type { Citation } from '@/generation/part.ts'
import { asArray, asNumber, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { FORMAT } from './wire.ts'

/** Reads an annotation that is a url_citation, nested or (as Responses has it) flat; undefined for one of another kind. */
export function decodeAnnotation(annotation: JsonValue): Citation | undefined {
  const wire = asObject(annotation)
  const isFlat = wire?.['type'] === 'url_citation' && asString(wire['url']) !== undefined
  const cited = asObject(wire?.['url_citation']) ?? (isFlat ? wire : undefined)
  if (wire === undefined || cited === undefined) return undefined
  return {
    url: asString(cited['url']),
    title: asString(cited['title']),
    citedText: asString(cited['content']),
    start: asNumber(cited['start_index']),
    end: asNumber(cited['end_index']),
    wire: { format: FORMAT, value: wire },
  }
}

/** Whether `decodeSources` would find any. */
export function hasSources({ search_results, citations }: JsonObject): boolean {
  return asArray(search_results ?? citations).length > 0
}

/** Perplexity's sources, which stand beside the choices: `search_results`, formerly `citations` (addresses only). */
export function decodeSources(answer: JsonObject): Citation[] {
  const results = asArray(answer['search_results'] ?? answer['citations'])
  return results.flatMap(result => {
    const url = asString(result) ?? asString(asObject(result)?.['url'])
    if (url === undefined) return []
    const title = asString(asObject(result)?.['title'])
    return [{ url, title, citedText: undefined, start: undefined, end: undefined, wire: undefined }]
  })
}

/**
 * Writes a citation as an annotation; undefined for a source without an address, which the format cannot name.
 * @param offset where its text part begins in the message's content
 * @param length how much of that part is written
 */
export function encodeAnnotation(citation: Citation, offset: number, length: number): JsonObject | undefined {
  if (citation.url === undefined) return undefined
  return {
    type: 'url_citation',
    url_citation: {
      start_index: offset + (citation.start ?? 0),
      end_index: offset + (citation.end ?? length),
      title: citation.title ?? '',
      url: citation.url,
    },
  }
}
