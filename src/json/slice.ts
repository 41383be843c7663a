import {
  keyOf,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipComma,
  skipSpace,
  skipString,
  skipValue,
  startOf,
} from './scan.ts'

/**
 * The items of a list as they are spelled: the list is the value of `key` in the document's object.
 * @param raw valid JSON in UTF-8. Of duplicate keys the last one counts, as for JSON.parse.
 * @returns undefined if there is no such list in it
 */
export function sliceItems(raw: Uint8Array, key: string): string[] | undefined {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const open = memberStart(bytes, key)
  if (open === undefined || bytes[open] !== OPEN_BRACKET) return undefined
  const items: string[] = []
  let at = skipSpace(bytes, open + 1)
  const end = skipValue(bytes, open) - 1
  while (at < end) {
    const itemEnd = skipValue(bytes, at)
    items.push(bytes.toString('utf8', at, itemEnd))
    at = skipComma(bytes, itemEnd)
  }
  return items
}

function memberStart(bytes: Buffer, key: string): number | undefined {
  const open = startOf(bytes)
  if (bytes[open] !== OPEN_BRACE) return undefined
  let found: number | undefined
  let at = skipSpace(bytes, open + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = skipString(bytes, at)
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    if (keyOf(bytes, at, keyEnd) === key) found = start
    at = skipComma(bytes, skipValue(bytes, start))
  }
  return found
}

/** The value of `key` in the document's object as it is spelled; undefined if there is none. */
export function sliceMember(raw: Uint8Array, key: string): string | undefined {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const start = memberStart(bytes, key)
  return start === undefined ? undefined : bytes.toString('utf8', start, skipValue(bytes, start))
}
