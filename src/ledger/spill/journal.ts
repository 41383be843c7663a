import { type FileHandle, open, rm, writeFile } from 'node:fs/promises'
import { parseObject } from '@/json/json.ts'
import type { Settlement } from '@/ledger/types.ts'
import type { Log } from '@/telemetry/log.ts'
import { crc32c } from './crc32c.ts'
import { freeTornPath } from './torn.ts'

/** What the journal needs of a file; a test passes one whose disk is full. */
export interface JournalFile {
  /** Writes all bytes at the position, which is the end. */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** Returns when the content is on the disk. */
  datasync(): Promise<void>
  truncate(length: number): Promise<void>
  read(length: number): Promise<Uint8Array>
  /** Stores a copy of what was read in another file; gives its path when it is on the disk. */
  keep(bytes: Uint8Array): Promise<string>
  close(): Promise<void>
}

/**
 * Settlements that could not be committed: appended and on disk before anybody relies on them, posted when the
 * database is back or at the next start. Posting one twice changes nothing, so nothing needs to be struck out.
 */
export interface Journal {
  /** Resolves when the settlement is on disk. */
  append(settlement: Settlement): Promise<void>
  /**
   * Posts everything in it, and empties it if nothing came meanwhile. Of one that was damaged since it was written it posts
   * what can be read, and a copy is kept.
   */
  replay(settle: (settlements: readonly Settlement[]) => Promise<void>): Promise<void>
  /** Whether more may be promised: tries. */
  probe(): Promise<boolean>
  /** False from a failed write or probe until a probe succeeds. */
  healthy(): boolean
  isEmpty(): boolean
  close(): Promise<void>
}

/** What an operator is told of charges that may not be posted. */
export const HOW_TO_CHARGE_TORN =
  '`tollgate audit` names the requests of charges that are missing, `tollgate charge lost` charges them; then the copy can be deleted'

/** Room that must be there before more is promised. */
const PROBE = new Uint8Array(4096)

/**
 * Opens the journal on a file that is empty. The log is told when it cannot be written, and when it can again.
 * `checkOthers` rejects where something else is missing without which no more is to be promised.
 */
export function openJournal(
  file: JournalFile,
  log: Pick<Log, 'error' | 'info'>,
  checkOthers: () => Promise<void> = async () => undefined,
): Journal {
  let size = 0
  let healthy = true
  // One thing at a time on the file.
  let turn: Promise<unknown> = Promise.resolve()

  function inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const result = turn.then(act)
    turn = result.catch(() => undefined)
    return result
  }

  /** A failed write may have left a part: whatever follows must not stand behind it. */
  async function writeOrUndo(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      if (healthy)
        log.error({ err: error }, 'the journal in DATA_DIR cannot be written: new requests are refused')
      healthy = false
      await file.truncate(size).catch(() => undefined)
      throw error
    }
  }

  /** Whatever comes while the file is busy shares one write. */
  let gathering: { settlements: Settlement[]; written: Promise<void> } | undefined

  function gather() {
    const settlements: Settlement[] = []
    const written = inTurn(() => {
      gathering = undefined
      return writeOrUndo(async () => {
        const bytes = encodeRecords(settlements)
        await file.write(bytes, size)
        await file.datasync()
        size += bytes.length
      })
    })
    return { settlements, written }
  }

  return {
    append(settlement) {
      gathering ??= gather()
      gathering.settlements.push(settlement)
      return gathering.written
    },
    async replay(settle) {
      const until = size
      if (until === 0) return
      const bytes = await inTurn(() => file.read(until))
      const { items, intactBytes } = decodeTexts(bytes, readSettlement)
      await settle(items)
      await inTurn(async () => {
        if (size !== until) return
        if (intactBytes < until) {
          const keptAs = await file.keep(bytes)
          log.error(
            { settlements: items.length, torn_bytes: until - intactBytes, kept_as: keptAs },
            `the journal was damaged: what can be read is posted, and a copy is kept. ${HOW_TO_CHARGE_TORN}`,
          )
        }
        await file.truncate(0)
        size = 0
      })
    },
    probe: () =>
      inTurn(async () => {
        await writeOrUndo(async () => {
          await checkOthers()
          await file.write(PROBE, size)
          await file.truncate(size)
        })
        if (!healthy) log.info('the journal can be written again')
        healthy = true
      }).then(
        () => true,
        () => false,
      ),
    healthy: () => healthy,
    isEmpty: () => size === 0,
    close: () => inTurn(() => file.close()),
  }
}

/** Opens a journal to be read and written, made if it is not there, for its owner alone. */
export async function openJournalFile(path: string): Promise<JournalFile> {
  const handle = await open(path, 'a+', 0o600).then(async made => {
    await made.close()
    return open(path, 'r+')
  })
  return {
    write: (bytes, position) => writeAll(handle, bytes, position),
    datasync: () => handle.datasync(),
    truncate: length => handle.truncate(length),
    async read(length) {
      const bytes = new Uint8Array(length)
      let filled = 0
      while (filled < length) {
        const { bytesRead } = await handle.read(bytes, filled, length - filled, filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    },
    async keep(bytes) {
      const torn = freeTornPath(path)
      try {
        await writeFile(torn, bytes, { flag: 'wx', mode: 0o600, flush: true })
      } catch (error) {
        await rm(torn, { force: true })
        throw error
      }
      return torn
    },
    close: () => handle.close(),
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

/** Length and CRC-32C of the text (4 bytes each, big endian), then the text. */
const HEAD_BYTES = 8

/** Settlements as the bytes of a journal. */
export function encodeRecords(settlements: readonly Settlement[]): Uint8Array {
  return encodeTexts(settlements.map(recordText))
}

/** Texts as records, one behind the other. */
export function encodeTexts(texts: readonly string[]): Uint8Array {
  let room = 0
  for (const text of texts) room += HEAD_BYTES + Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(room)
  let at = 0
  for (const text of texts) {
    const start = at + HEAD_BYTES
    const length = bytes.write(text, start)
    bytes.writeUInt32BE(length, at)
    bytes.writeUInt32BE(crc32c(bytes, start, start + length), at + 4)
    at = start + length
  }
  return bytes
}

/** A JSON object. Written out: an object made to be serialized costs three times as much. */
function recordText({ id, accountId, keyId, costNano, costPico }: Settlement): string {
  return `{"id":${JSON.stringify(id)},"accountId":${accountId},"keyId":${keyId},"costNano":"${costNano}","costPico":"${costPico}"}`
}

/**
 * Reads all records but those that are torn or damaged, or of which `read` makes nothing. `intactBytes` are of those that
 * were read. Behind a damaged one, whose length may be wrong, each byte may be the first of the next: the checksum tells.
 */
export function decodeTexts<Item>(
  bytes: Uint8Array,
  read: (text: string) => Item | undefined,
): { items: Item[]; intactBytes: number } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const items: Item[] = []
  let intactBytes = 0
  let at = 0
  while (at + HEAD_BYTES <= buffer.length) {
    const start = at + HEAD_BYTES
    const end = start + buffer.readUInt32BE(at)
    const isIntact = end <= buffer.length && crc32c(buffer, start, end) === buffer.readUInt32BE(at + 4)
    const item = isIntact ? read(buffer.toString('utf8', start, end)) : undefined
    if (item === undefined) {
      at += 1
      continue
    }
    items.push(item)
    intactBytes += end - at
    at = end
  }
  return { items, intactBytes }
}

/** The text of a record; undefined: it is no settlement. */
export function readSettlement(text: string): Settlement | undefined {
  const record = parseObject(text)
  if (record === undefined) return undefined
  const { id, accountId, keyId, costNano, costPico } = record
  if (typeof id !== 'string' || typeof accountId !== 'number' || typeof keyId !== 'number') return undefined
  if (typeof costNano !== 'string' || typeof costPico !== 'string') return undefined
  return { id, accountId, keyId, costNano: BigInt(costNano), costPico: BigInt(costPico) }
}
