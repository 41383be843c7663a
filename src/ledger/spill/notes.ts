import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs'

/**
 * What is known and not yet committed, in files: what the kernel has was written survives the death of the process,
 * though not that of the machine. Of two records of one exchange the later counts. Committing one twice changes nothing,
 * so files hold a little more than is needed, and are emptied now and then.
 */
export interface Notes<Item extends { id: string }> {
  /** Written in this turn of the event loop. Of a disk that is full nobody hears here: the journal's probe tells. */
  add(item: Item): void
  /** It is committed, or in the journal. */
  done(id: string): void
  /** Empties what nobody needs any more. Called every so often. */
  tidy(): void
  /** Closes, and removes the files unless they are needed. */
  close(): void
}

/** From this size on the other file is used, so that this one can be emptied. */
const FULL_BYTES = 256 * 1024

interface Page {
  path: string
  fd: number
  bytes: number
  /** Exchanges with a record on it that is still needed. */
  open: Set<string>
}

/** Opens two new files, which nobody else writes to. `encode` makes records of items, one behind the other. */
export function openNotes<Item extends { id: string }>(
  paths: readonly [string, string],
  encode: (items: readonly Item[]) => Uint8Array,
): Notes<Item> {
  let [current, other] = [openPage(paths[0]), openPage(paths[1])]
  const pages = [current, other]
  let unwritten: Item[] = []
  // The number of a closed file may be another file's by now.
  let closed = false

  /** Whoever else adds in this turn of the loop is in the same write. */
  function write(): void {
    const items = unwritten
    unwritten = []
    if (closed) return
    if (current.bytes >= FULL_BYTES && other.open.size === 0) {
      ;[current, other] = [other, current]
      empty(current)
    }
    if (other.open.size === 0) return append(current, items, encode(items))
    // The later record of an exchange stands behind the first: of two files nobody could tell which is older.
    const again = items.filter(({ id }) => other.open.has(id))
    const fresh = items.filter(({ id }) => !other.open.has(id))
    append(other, again, encode(again))
    append(current, fresh, encode(fresh))
  }

  return {
    add(item) {
      if (unwritten.length === 0) queueMicrotask(write)
      unwritten.push(item)
    },
    done(id) {
      current.open.delete(id)
      other.open.delete(id)
    },
    tidy() {
      if (closed) return
      for (const page of pages) if (page.open.size === 0) empty(page)
    },
    close() {
      if (closed) return
      closed = true
      for (const { fd, path, open } of pages) {
        closeSync(fd)
        if (open.size === 0) rmSync(path, { force: true })
      }
    },
  }
}

function openPage(path: string): Page {
  return { path, fd: openSync(path, 'w', 0o600), bytes: 0, open: new Set() }
}

/** What was written in part is cut off: whole records in it would count as later than what is written over their front. */
function append(page: Page, items: readonly { id: string }[], bytes: Uint8Array): void {
  try {
    if (writeSync(page.fd, bytes, 0, bytes.length, page.bytes) < bytes.length)
      return ftruncateSync(page.fd, page.bytes)
    page.bytes += bytes.length
    for (const { id } of items) page.open.add(id)
  } catch {
    // A full disk. What it is about is on its way to the database all the same.
  }
}

function empty(page: Page): void {
  if (page.bytes === 0) return
  ftruncateSync(page.fd, 0)
  page.bytes = 0
}
