import { expect, test } from 'bun:test'
import { notMade } from '@/db/initdb.ts'

test('a disk that is full is what is told, and not the panic that follows', () => {
  const said = `creating configuration files ... ok
running bootstrap script ... FATAL:  could not extend file "base/1/2691": No space left on device
HINT:  Check free disk space.
PANIC:  cannot abort transaction 1, it was already committed
child process exited with exit code 134`
  expect(notMade(said).message).toEndWith('could not extend file "base/1/2691": No space left on device')
})
