import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournalFile } from '@/ledger/spill/journal.ts'
import { freeTornPath } from '@/ledger/spill/torn.ts'

/** A directory for a file. */
function place() {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-torn-'))
  return {
    directory,
    path: join(directory, 'one'),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  }
}

test('what is kept of a file takes the place of nothing that was kept before', () => {
  using at = place()
  const kept = Array.from({ length: 4 }, () => {
    const torn = freeTornPath(at.path)
    writeFileSync(torn, '')
    return torn
  })
  expect(kept).toEqual(['.torn', '.torn-2', '.torn-3', '.torn-4'].map(end => at.path + end))
})

/** Keeps more of a file than there is room for, and prints how that ended. */
const KEEPER = `
import { openJournalFile } from '${join(import.meta.dir, '../../../src/ledger/spill/journal.ts')}'
const file = await openJournalFile(process.argv.at(-1))
console.log(await file.keep(new Uint8Array(8192).fill(1)).then(() => 'kept', () => 'no room'))`

test('a copy for which there is no room leaves no part of itself', async () => {
  using at = place()
  await (await openJournalFile(at.path)).close()
  // A file that is as large as it may be is to whoever writes it what a full disk is.
  const limited = `trap '' XFSZ; ulimit -f 1; exec "$@"`
  const child = Bun.spawn(['sh', '-c', limited, 'sh', process.execPath, '-e', KEEPER, at.path], {
    stderr: 'inherit',
  })
  expect(await child.stdout.text()).toBe('no room\n')
  expect(readdirSync(at.directory)).toEqual(['one'])
})
