import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import type { Citation } from '@/generation/part.ts'
import { asArray, asNumber, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

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

/** Where the sources of an answer stand beside its choices: Perplexity's, Z.ai's, and those of vendors with addresses only. */
const SOURCES = ['search_results', 'web_search', 'citations'] as const

/** Whether `decodeSources` would find any. */
export function hasSources(answer: JsonObject): boolean {
  return SOURCES.some(name => asArray(answer[name]).length > 0)
}

/** The sources that stand beside the choices; the first list says most. */
export function decodeSources(answer: JsonObject): Citation[] {
  const list = SOURCES.find(name => asArray(answer[name]).length > 0)
  return list === undefined ? [] : asArray(answer[list]).flatMap(entry => decodeSource(entry) ?? [])
}

/** Reads an address, or an entry that may have one, a title and the words that were found; undefined where it has none. */
export function decodeSource(source: JsonValue): Citation | undefined {
  const entry = asObject(source)
  const url = asString(source) ?? asString(entry?.['url']) ?? asString(entry?.['link'])
  const title = asString(entry?.['title']) ?? asString(entry?.['filepath'])
  const citedText = asString(entry?.['content'])
  if (url === undefined && title === undefined && citedText === undefined) return undefined
  return { url, title, citedText, start: undefined, end: undefined, wire: undefined }
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
