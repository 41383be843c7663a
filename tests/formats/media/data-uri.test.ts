import { expect, test } from 'bun:test'
import { dataUri, parseDataUri } from '@/formats/media/data-uri.ts'

test.each([
  ['data:image/png;base64,AAAA', 'image/png', 'AAAA'],
  ['DATA:Image/PNG;Base64,AAAA', 'image/png', 'AAAA'],
  ['data:image/png;charset=utf-8;name=a.png;base64,AAAA', 'image/png', 'AAAA'],
  ['data:;base64,AAAA', 'text/plain', 'AAAA'],
  ['data:,h%C3%A9', 'text/plain', Buffer.from('hé').toString('base64')],
  ['data:text/plain,100%', 'text/plain', Buffer.from('100%').toString('base64')],
  ['data:image/png;base64,AA-_AA', 'image/png', 'AA+/AA=='],
  ['data:image/png;base64,AA-_\n AA%3D%3D', 'image/png', 'AA+/AA=='],
])('%s is %s and %s', (uri, mediaType, base64) => {
  expect(parseDataUri(uri)).toEqual({ mediaType, base64 })
})

test.each(['https://example.com/a.png', 'data:image/png;base64', 'AAAA', ''])('%s is none', text => {
  expect(parseDataUri(text)).toBeUndefined()
})

test('what is written is read', () => {
  expect(parseDataUri(dataUri('image/gif', 'R0lG'))).toEqual({ mediaType: 'image/gif', base64: 'R0lG' })
})
