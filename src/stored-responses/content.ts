import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { asArray, asIndex, asString, parseJson, parseObject } from '@/json/json.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import type { StoredEvent } from './stored-response.ts'

/** Content as it lies in the database: packed, then sealed. Events repeat one another, so they shrink to a tenth. */
export function contentBox(box: SecretBox) {
  const seal = (text: string) => box.seal(zstdCompressSync(Buffer.from(text)))
  const open = (sealed: Uint8Array) => zstdDecompressSync(box.openBytes(sealed)).toString('utf8')
  const openList = (sealed: Uint8Array) =>
    asArray(parseJson(open(sealed))).flatMap(item => asString(item) ?? [])
  return {
    seal,
    open,
    sealList: (texts: readonly string[]) => seal(JSON.stringify(texts)),
    openList,
    sealEvents: (events: readonly StoredEvent[]) => seal(JSON.stringify(events.map(({ data }) => data))),
    openEvents: (sealed: Uint8Array) => openList(sealed).flatMap(readEvent),
  }
}

/** None for what is no event of a response. */
function readEvent(data: string): StoredEvent[] {
  const number = asIndex(parseObject(data)?.['sequence_number'])
  return number === undefined ? [] : [{ number, data }]
}
