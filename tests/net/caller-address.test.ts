import { describe, expect, test } from 'bun:test'
import { callerAddress } from '@/net/caller-address.ts'

const PROXIES = ['10.0.0.0/8', '2001:db8::1']

function from(socket: string | undefined, forwarded: string | undefined, trusted = PROXIES) {
  const headers = new Headers(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded })
  return callerAddress(socket, headers, trusted)
}

describe('a caller address', () => {
  test.each([
    [
      'without trusted proxies is the socket, whatever a header says',
      '10.0.0.1',
      '192.0.2.1',
      [],
      '10.0.0.1',
    ],
    [
      'of a stranger is the socket, whatever a header says',
      '198.51.100.7',
      '192.0.2.1',
      PROXIES,
      '198.51.100.7',
    ],
    ['behind a proxy is whom the proxy heard', '10.0.0.1', '192.0.2.1', PROXIES, '192.0.2.1'],
    ['is not what the caller wrote in front', '10.0.0.1', '127.0.0.1, 192.0.2.1', PROXIES, '192.0.2.1'],
    [
      'behind two proxies is whom the first heard',
      '10.0.0.1',
      '6.6.6.6, 192.0.2.1, 10.9.9.9',
      PROXIES,
      '192.0.2.1',
    ],
    ['of a proxy itself is its own', '10.0.0.1', '10.0.0.2', PROXIES, '10.0.0.2'],
    ['is the proxy where that says nothing', '10.0.0.1', undefined, PROXIES, '10.0.0.1'],
    ['is without a port', '10.0.0.1', '192.0.2.1:5123', PROXIES, '192.0.2.1'],
    ['of IPv6 is told from a port', '2001:db8::1', '2001:db8::42', PROXIES, '2001:db8::42'],
    [
      'of IPv6 is without brackets and port',
      '::ffff:10.0.0.1',
      '[2001:db8::42]:443',
      PROXIES,
      '2001:db8::42',
    ],
  ])('%s', (_guarantee, socket, forwarded, trusted, expected) => {
    expect(from(socket, forwarded, trusted)).toBe(expected)
  })

  test.each(['unknown', '', '192.0.2.1, ', '192.0.2.1, 300.1.1.1', '192.0.2.1, _hidden'])(
    'is nobody where a trusted proxy says %p',
    forwarded => {
      expect(from('10.0.0.1', forwarded)).toBeUndefined()
    },
  )

  test('is nobody when the socket is closed', () => {
    expect(from(undefined, '192.0.2.1')).toBeUndefined()
  })
})
