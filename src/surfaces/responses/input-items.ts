import { invalidRequest } from '@/formats/invalid.ts'
import { asArray, asString, isJsonObject, type JsonObject, type JsonValue, parseObject } from '@/json/json.ts'
import { readPage } from '@/surfaces/page-query.ts'

/**
 * A page of the items that a stored response got as input: newest first unless `order=asc`, after the item of the
 * cursor `after`.
 * @throws GatewayError `invalid_request`
 */
export function inputPage(responseId: string, items: readonly string[], query: URLSearchParams): JsonObject {
  const { limit, order } = readPage(query)
  const all = items.map((item, index) => listedItem(responseId, parseObject(item) ?? {}, index))
  if (order === 'desc') all.reverse()
  const start = readStart(query, all)
  const data = all.slice(start, start + limit)
  return {
    object: 'list',
    data,
    first_id: data.at(0)?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: start + data.length < all.length,
  }
}

/** An item as lists have it: with an id, a status where it is a call or its output, and a message's text as content parts. */
function listedItem(responseId: string, item: JsonObject, index: number): JsonObject {
  const type = asString(item['type']) ?? 'message'
  const place = `${responseId.replace(/^resp_/, '')}${String(index).padStart(4, '0')}`
  const id = asString(item['id']) ?? `${type === 'message' ? 'msg' : 'item'}_${place}`
  const { status, content, output, role } = item
  if (type === 'message') {
    return { ...item, type, id, status: status ?? 'completed', content: contentParts(content, role) }
  }
  if (!/_(?:call|output)$/.test(type)) return { ...item, type, id }
  const listed = { ...item, type, id, status: status ?? 'completed' }
  return Array.isArray(output) ? { ...listed, output: output.map(listedPart) } : listed
}

function contentParts(content: JsonValue | undefined, role: JsonValue | undefined): JsonValue[] {
  const text = { type: role === 'assistant' ? 'output_text' : 'input_text', text: content }
  return (typeof content === 'string' ? [text] : asArray(content)).map(listedPart)
}

/** A part with what may be left out of it in a request and is there in every list. */
function listedPart(part: JsonValue): JsonValue {
  if (!isJsonObject(part)) return part
  switch (part['type']) {
    case 'input_image':
      return { ...part, detail: part['detail'] ?? 'auto' }
    case 'output_text':
      return { ...part, annotations: part['annotations'] ?? [] }
    default:
      return part
  }
}

function readStart(query: URLSearchParams, items: readonly JsonObject[]): number {
  const after = query.get('after')
  if (after === null) return 0
  const index = items.findIndex(({ id }) => id === after)
  if (index < 0) throw invalidRequest('after', 'expected the id of an item of this list')
  return index + 1
}
