import { describe, expect, test } from 'bun:test'
import { ConfigFileError, parseConfigFile, readConfigValue } from '@/config/file.ts'

test('an error line never shows a password of the console', () => {
  const yaml = 'console: { smtp: { host: h, from: t@example.com, password: [pass-word-of-mail] } }'
  const read = () => parseConfigFile(yaml, { name: 'f', env: {}, known: { channels: new Set() } })
  expect(read).toThrow('f:1: console.smtp.password: must be a text of printable ASCII')
  expect(read).not.toThrow('pass-word-of-mail')
})

describe('mail is from an address, with a name or without', () => {
  const read = (from: string) =>
    parseConfigFile(JSON.stringify({ console: { smtp: { host: 'h', from } } }), {
      name: 'f',
      env: {},
      known: { channels: new Set() },
    })

  test.each(['t@example.com', 'Tollgate <t@example.com>', '"Gate, Toll" <t@example.com>', '<t@example.com>'])(
    '%s',
    from => {
      expect(read(from).console?.smtp?.from).toBe(from)
    },
  )

  test.each(['abc', 'Tollgate', 'Tollgate <tollgate>', 't@example.com Tollgate', 'a@b <c@d> e', '@', ' '])(
    'not %j',
    from => {
      expect(() => read(from)).toThrow(
        'f:1: console.smtp.from: must be an e-mail address, with a name or without',
      )
    },
  )
})

test('values that no file says are checked alike, and read nothing from the environment', () => {
  const channel = {
    name: 'a',
    format: 'openai-responses',
    base_url: 'https://api.example.com/',
    api_keys: ['$' + '{HOME}'],
  }
  const known = { channels: new Set<string>() }
  expect(readConfigValue({ channels: [channel] }, known).channels[0]).toMatchObject({
    baseUrl: 'https://api.example.com',
    apiKeys: ['$' + '{HOME}'],
  })
  const wrong = () =>
    readConfigValue(
      { models: [{ id: 'm', channels: [{ channel: 'b' }], prices: { input: '1.2345678' } }] },
      known,
    )
  expect(wrong).toThrow(ConfigFileError)
  expect(wrong).toThrow('models[0].channels[0].channel: there is no channel named "b"')
  expect(wrong).toThrow('models[0].prices.input: must have at most 6 decimal places, but is "1.2345678"')
})
