import { expect, test } from 'bun:test'
import { holds, runKills } from './kills.ts'

// The whole of it is `bun run chaos kills`.
test('a gateway that is killed in the middle of streams leaves no hold, no debt and a green audit', async () => {
  const result = await runKills({
    gateways: 2,
    streams: 12,
    kills: 1,
    pauseMs: 3_000,
    events: 50,
    tokens: 10,
    paceMs: 50,
    hurry: true,
  })
  expect(result.calls.filter(({ status, complete }) => status === 200 && !complete)).not.toBeEmpty()
  expect(result.chargedNano).toBeGreaterThan(0)
  expect({ holds: holds(result), holdsLeft: result.holdsLeft, audit: result.audit.ok }).toEqual({
    holds: true,
    holdsLeft: 0,
    audit: true,
  })
}, 120_000)
