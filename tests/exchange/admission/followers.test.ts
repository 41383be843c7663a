import { expect, test } from 'bun:test'
import { callerBy } from '#tests/support/caller.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import type { Authentication } from '@/accounts/authenticate.ts'
import { Followers } from '@/exchange/admission/followers.ts'

const caller = callerBy(1, 1)
const good: Authentication = { ok: true, caller }
const asks = () => new Request('http://tollgate/', { headers: { authorization: 'Bearer key' } })
/** Lets go on what waits for nothing but its turn. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

/** Somebody follows, whose key is looked at so many times. */
function following(found: () => Authentication | Promise<Authentication>) {
  const clock = manualClock()
  const seen = { looks: 0, isOpen: true }
  const authenticate = () => {
    seen.looks += 1
    return found()
  }
  const followers = new Followers(authenticate, clock)
  const interruption = followers.follow(asks(), { isOpen: () => seen.isOpen })
  const look = () => {
    clock.advance(2_000)
    return settled()
  }
  return { interruption, seen, look, followers }
}

test.each<[string, Authentication, string]>([
  ['whose key is revoked', { ok: false, reason: 'revoked' }, 'invalid_api_key'],
  ['whose key is no more', { ok: false, reason: 'unknown' }, 'invalid_api_key'],
  [
    'whose account is suspended',
    { ok: true, caller: { ...caller, accountStatus: 'suspended' } },
    'account_suspended',
  ],
])('whoever follows and %s is given no more from the next look on', async (_, found, kind) => {
  let now: Authentication = good
  const { interruption, look } = following(() => now)
  await look()
  expect(interruption.reason).toBeUndefined()
  now = found
  await look()
  expect(interruption.reason?.kind).toBe(kind as never)
})

test.each<[string, () => Authentication | Promise<Authentication>]>([
  ['their key has expired: what it had begun goes on', () => ({ ok: false, reason: 'expired' })],
  ['the database is away, which says nothing', () => Promise.reject(new Error('away'))],
])('whoever follows is given more although %s', async (_, found) => {
  const { interruption, seen, look } = following(found)
  let heard = 0
  interruption.listen(() => {
    heard += 1
  })
  await look()
  expect([seen.looks, heard]).toEqual([1, 0])
  expect(interruption.reason).toBeUndefined()
})

test('nobody is looked at who has got all or has left, nor once the process stops', async () => {
  const over = following(() => good)
  over.seen.isOpen = false
  await over.look()
  over.seen.isOpen = true
  await over.look()
  expect(over.seen.looks).toBe(0)
  const stopped = following(() => good)
  stopped.followers.stop()
  await stopped.look()
  expect(stopped.seen.looks).toBe(0)
})
