import { expect, test } from 'bun:test'
import { afterSignIn, besideGate, signInAddress } from '@/console/web/after-sign-in.ts'

const ORIGIN = 'https://console.example.com'

test.each(['/', '/keys', '/requests?key=3&from=2026-11-01', '/admin/accounts/7'])(
  'whoever wanted to go to %p goes on there after the sign-in',
  path => {
    expect(afterSignIn(signInAddress(path), ORIGIN)).toBe(path)
  },
)

test('whoever makes an account on the way, or looks for a password, goes on to the same place', () => {
  const wanted = signInAddress('/requests?key=3&from=2026-11-01')
  const back = besideGate(besideGate(wanted, '/forgotten'), '/sign-in')
  for (const address of [besideGate(wanted, '/sign-up'), back]) {
    expect(afterSignIn(address, ORIGIN)).toBe('/requests?key=3&from=2026-11-01')
  }
  expect(besideGate('/sign-in', '/sign-up')).toBe('/sign-up')
})

test.each([
  '//evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  '/\n\\evil.example',
  'https://evil.example/',
  'javascript:alert(1)',
  'keys',
  '',
  '//[',
])('a link that says %p leads to the start of the console, not to another site', then => {
  expect(afterSignIn(`/sign-in?then=${encodeURIComponent(then)}`, ORIGIN)).toBe('/')
})
