import { expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { start } from '@/db/postmaster.ts'

/** Nobody's on any machine that runs the tests. */
const KILLED = 4_194_303

test('a server that got the process id of the killed one before it is ready when it says so itself', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-postmaster-'))
  writeFileSync(
    join(directory, 'postmaster.pid'),
    `${KILLED}\n${directory}\n1795716260\n5432\n.\n\n  1 2\nready   \n`,
  )
  const postgres = join(directory, 'postgres')
  // A file that still has the killed server's id has this one's: in a container both are the same.
  writeFileSync(
    postgres,
    `#!/bin/sh\nsed -i "s/^${KILLED}$/$$/" postmaster.pid\nsleep 1\necho 'FATAL:  it cannot recover'\nexit 1\n`,
  )
  chmodSync(postgres, 0o755)
  const binaries = { postgres, initdb: '', major: 18 }
  const log = join(directory, 'log')
  await expect(start({ directory, binaries, user: undefined, log })).rejects.toThrow('it cannot recover')
  rmSync(directory, { recursive: true })
})
