import { expect, test } from 'bun:test'
import { endLeftovers, endsWithTests } from '#tests/support/leftovers.ts'

test('what a red test left running ends with the run, also if it was stopped in its tracks', async () => {
  const [running, stopped] = [Bun.spawn(['sleep', '600']), Bun.spawn(['sleep', '600'])]
  for (const child of [running, stopped]) endsWithTests(child)
  stopped.kill('SIGSTOP')
  await endLeftovers()
  expect([running.signalCode, stopped.signalCode]).toEqual(['SIGTERM', 'SIGTERM'])
})
