import type { Citation } from '@/generation/part.ts'
import { asObjects, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { isNobodys, replySignature } from './reply.ts'
import { FORMAT } from './wire.ts'

/** The citations of a text block. (A document's `citations: {enabled}` is a setting and no list.) */
export function decodeCitations(value: JsonValue | undefined): Citation[] {
  return asObjects(value).map(decodeCitation)
}

/** Every kind of location: of a web page, a search result, or a passage of a document. */
export function decodeCitation(wire: JsonObject): Citation {
  const source = asString(wire['source'])
  return {
    url: asString(wire['url']) ?? (source !== undefined && /^https?:/.test(source) ? source : undefined),
    title: asString(wire['title']) ?? asString(wire['document_title']),
    citedText: asString(wire['cited_text']),
    start: undefined,
    end: undefined,
    wire: { format: FORMAT, value: wire },
  }
}

/**
 * A citation for the caller. Another vendor's source becomes a web search result; without an address there is no kind
 * of citation here that could hold it.
 */
export function encodeCitation(citation: Citation): JsonObject | undefined {
  if (citation.wire?.format === FORMAT) return citation.wire.value
  if (citation.url === undefined) return undefined
  return {
    type: 'web_search_result_location',
    url: citation.url,
    // The API may say null; the AI SDK up to version 6 refuses an answer with one.
    title: citation.title ?? citation.url,
    cited_text: citation.citedText ?? '',
    // Wrapped as well, so that a conversation with it is never handed on as it is: the API refuses a key that it did not make.
    encrypted_index: replySignature(undefined),
  }
}

/** A citation as history for an upstream: only what it wrote itself, as `encrypted_index` says. */
export function encodeCitationHistory(citation: Citation): JsonObject | undefined {
  const wire = citation.wire?.format === FORMAT ? citation.wire.value : undefined
  const key = asString(wire?.['encrypted_index'])
  const isOurs = key === '' || (key !== undefined && isNobodys(key))
  return isOurs ? undefined : wire
}
