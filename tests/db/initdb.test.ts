import { afterAll, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { initialise, notMade } from '@/db/initdb.ts'
import { chooseUser } from '@/db/os-user.ts'
import { findBinaries } from '@/db/postgres-binaries.ts'

const root = mkdtempSync(join(tmpdir(), 'tollgate-initdb-'))
afterAll(() => rmSync(root, { recursive: true }))

test('a cluster is made by programs below a folder whose name means something to a shell', async () => {
  const user = chooseUser(undefined)
  const found = findBinaries(user)
  const installed = dirname(dirname(found.initdb))
  const native = join(root, 'a $HOME "of" `its` own \\', 'native')
  cpSync(join(installed, 'bin'), join(native, 'bin'), { recursive: true })
  for (const name of ['lib', 'share']) symlinkSync(join(installed, name), join(native, name))
  chmodSync(root, 0o755)
  const directory = join(root, 'cluster')
  mkdirSync(directory, { mode: 0o700 })
  if (user !== undefined) chownSync(directory, user.uid, user.gid)
  const binaries = {
    ...found,
    initdb: join(native, 'bin', 'initdb'),
    postgres: join(native, 'bin', 'postgres'),
  }
  await initialise({ directory, binaries, user, log: join(root, 'log') })
  expect(existsSync(join(directory, 'PG_VERSION'))).toBe(true)
}, 60_000)

test('a disk that is full is what is told, and not the panic that follows', () => {
  const said = `creating configuration files ... ok
running bootstrap script ... FATAL:  could not extend file "base/1/2691": No space left on device
HINT:  Check free disk space.
PANIC:  cannot abort transaction 1, it was already committed
child process exited with exit code 134`
  expect(notMade(said).message).toEndWith('could not extend file "base/1/2691": No space left on device')
})
