/** `{` opens a whole answer or an error, `[` Gemini's array of either. */
const OPENS_JSON = new Set([0x7b, 0x5b])

/** `<` opens a page for people. */
const OPENS_PAGE = 0x3c

/** The bytes of a BOM, which may come one by one. */
const BOM = new Set([0xef, 0xbb, 0xbf])

/** What may come before the first byte that tells. */
const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d, ...BOM])

/**
 * How an answer comes, by its first bytes and not by its content type, which upstreams name wrongly; undefined where they
 * are blank.
 */
export function formOf(bytes: Uint8Array): 'json' | 'events' | 'page' | undefined {
  const first = bytes.find(byte => !BLANK.has(byte))
  if (first === undefined) return undefined
  if (first === OPENS_PAGE) return 'page'
  return OPENS_JSON.has(first) ? 'json' : 'events'
}

/** The first bytes of an answer without a BOM, or the rest of one: not all clients know it, and half of one nobody does. */
export function withoutBom(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex(byte => !BOM.has(byte))
  return start === 0 ? bytes : bytes.subarray(start)
}
