import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatewayError } from '@/errors/gateway-error.ts'

/** Bytes that are in memory at once, of each reader. */
const CHUNK_BYTES = 64 * 1024

/**
 * Bytes that are too many for memory, on disk for as long as a request lasts. The file has no name from the moment it
 * is made, so nobody else can open it and a killed process leaves nothing behind.
 */
export class Spool {
  #file: Promise<FileHandle> | undefined
  #size = 0
  #isClosed = false

  /** In bytes. */
  get size(): number {
    return this.#size
  }

  /** @throws GatewayError `overloaded` where the disk has no room, or cannot be written */
  async append(bytes: Uint8Array): Promise<void> {
    if (this.#isClosed) throw closed()
    try {
      this.#file ??= openNameless()
      const file = await this.#file
      let done = 0
      while (done < bytes.length) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, this.#size)
        done += bytesWritten
        this.#size += bytesWritten
      }
    } catch (error) {
      throw noRoom(error)
    }
  }

  /** What was appended from `start` on, `length` bytes of it. May be read any number of times, also at once. */
  async *read(start: number, length: number): AsyncGenerator<Uint8Array> {
    for (let at = start; at < start + length; ) {
      if (this.#file === undefined || this.#isClosed) throw closed()
      const file = await this.#file
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, start + length - at))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) throw new Error('the spool ends before what was written to it')
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }

  /** Frees the disk, also where the file is only being made. A second call does nothing. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const file = await this.#file?.catch(() => undefined)
    await file?.close()
  }
}

/** Why nothing can be kept on disk here; undefined: it can. */
export async function spoolFault(): Promise<unknown> {
  try {
    const file = await openNameless()
    await file.close()
    return undefined
  } catch (error) {
    return error
  }
}

function closed(): Error {
  return new Error('the spool is closed')
}

function noRoom(error: unknown): GatewayError {
  return new GatewayError('overloaded', 'This gateway has no room for files at the moment', {
    detail: error instanceof Error ? error.message : String(error),
    cause: error,
  })
}

async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `tollgate-spool-${crypto.randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}
