import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { bodyTerms } from '#tests/support/body-terms.ts'
import { temporaryFiles } from '#tests/support/temporary-files.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type Form, readForm } from '@/exchange/operations/form.ts'

/** What the exchange of the forms does at its end. */
const releases: (() => void)[] = []
const endExchange = () => {
  for (const release of releases.splice(0)) release()
}
afterEach(endExchange)

const MAX = 8 * 1024 * 1024

function read(body: FormData, max = MAX): Promise<Form> {
  return readForm(new Request('http://x', { method: 'POST', body }), bodyTerms(max), { releases })
}

function raw(text: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Request {
  return new Request('http://x', {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'multipart/form-data; boundary=b', ...headers },
  })
}

/** What a server reads of the form that is sent on. */
async function sent(form: Form, values: Record<string, string> = {}) {
  const { body, headers } = form.encode(values)
  const bytes = await new Response(body.open()).bytes()
  expect(bytes.length).toBe(body.length)
  return new Response(bytes, { headers }).formData()
}

async function errorOf(work: Promise<unknown>): Promise<GatewayError> {
  try {
    await work
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

const noise = (bytes: number) => {
  const buffer = new Uint8Array(bytes)
  for (let at = 0; at < bytes; at += 65536) crypto.getRandomValues(buffer.subarray(at, at + 65536))
  return buffer
}

describe('a form', () => {
  test('has parts passed over that have no disposition of a form, however long they are', async () => {
    const skipped = ['X: y', 'Content-Disposition: attachment; name="a"'].map(
      head => `--b\r\n${head}\r\n\r\n${'x'.repeat(70_000)}\r\n`,
    )
    const kept = '--b\r\nContent-Disposition: form-data; name="n"\r\n\r\n1\r\n--b--\r\n'
    const form = await readForm(raw(skipped.join('') + kept), bodyTerms(MAX), { releases })
    expect(form.parts).toEqual([{ name: 'n', value: '1' }])
  })

  test.each(['', '; filename="a.png"'])('has names for its parts (form-data%s)', async file => {
    const text = `--b\r\nContent-Disposition: form-data${file}\r\n\r\n1\r\n--b--\r\n`
    expect(await errorOf(readForm(raw(text), bodyTerms(MAX), { releases }))).toMatchObject({
      kind: 'invalid_request',
      message: expect.stringContaining('no name'),
    })
  })

  test('is sent on in its order, file for file, with nothing changed but the values that are named', async () => {
    const one = noise(300_000)
    const two = noise(5)
    const body = new FormData()
    body.append('image[]', new File([one], 'a "quoted"\r\nname.png', { type: 'image/png' }))
    body.append('model', 'ours')
    body.append('prompt', 'Grüße, 世界\r\n--b\r\n')
    body.append('image[]', new File([two], 'zwei ü.webp', { type: 'image/webp' }))
    body.append('empty', '')
    const form = await read(body)
    expect(form.value('model')).toBe('ours')
    expect(form.value('nothing')).toBeUndefined()
    expect(form.files('image', 'image[]').map(({ size, mediaType }) => [size, mediaType])).toEqual([
      [300_000, 'image/png'],
      [5, 'image/webp'],
    ])
    const upstream = await sent(form, { model: 'theirs' })
    expect([...upstream.keys()]).toEqual(['image[]', 'model', 'prompt', 'image[]', 'empty'])
    expect(upstream.get('model')).toBe('theirs')
    expect(upstream.get('prompt')).toBe('Grüße, 世界\r\n--b\r\n')
    const files = upstream.getAll('image[]').filter(value => value instanceof File)
    expect(files.map(({ type }) => type)).toEqual(['image/png', 'image/webp'])
    expect(files[1]?.name).toBe('zwei ü.webp')
    expect(await files[0]?.bytes()).toEqual(one)
    expect(await files[1]?.bytes()).toEqual(two)
  })

  test('can be sent as often as it takes, also at once', async () => {
    const body = new FormData()
    const content = noise(1_000_000)
    body.append('file', new File([content], 'f'))
    const form = await read(body)
    const all = await Promise.all([sent(form), sent(form), sent(form)])
    for (const one of all) {
      const file = one.get('file')
      expect(file instanceof File && Bun.hash(await file.bytes())).toBe(Bun.hash(content))
    }
  })

  test('leaves no file with a name while it is open', async () => {
    const before = process.env['TMPDIR']
    const directory = mkdtempSync(join(tmpdir(), 'tollgate-form-'))
    process.env['TMPDIR'] = directory
    const body = new FormData()
    body.append('file', new File([noise(100_000)], 'f'))
    await read(body)
    expect(readdirSync(directory)).toEqual([])
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmdirSync(directory)
  })

  test('whose exchange has ended cannot be read', async () => {
    const body = new FormData()
    body.append('file', new File([noise(100)], 'f'))
    const form = await read(body)
    endExchange()
    await expect(sent(form)).rejects.toThrow('closed')
  })

  test('may be compressed', async () => {
    const text = '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--b--\r\n'
    const compressed = raw(Bun.gzipSync(text), { 'content-encoding': 'gzip' })
    const form = await readForm(compressed, bodyTerms(MAX), { releases })
    expect(form.value('model')).toBe('m')
  })
})

test.skipIf(process.platform !== 'linux')(
  'what breaks off in the middle of a file keeps no file open',
  async () => {
    const before = temporaryFiles()
    const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n'
    for (let round = 0; round < 20; round += 1) {
      await errorOf(readForm(raw(head + 'x'.repeat(1000 * round)), bodyTerms(MAX), { releases }))
    }
    endExchange()
    await until(() => temporaryFiles() <= before)
  },
)

const HEADS = [
  'Content-Disposition: form-data; name="n"',
  'Content-Disposition: form-data; name="f"; filename="a.png"\r\nContent-Type: image/png',
  'Content-Disposition: form-data; name="f"; filename=""\r\nContent-Type: multipart/mixed; boundary=b',
  "Content-Disposition: form-data; name*=UTF-8''f; filename*=UTF-8''%E2%82%AC.png",
  'Content-Disposition: form-data; name="a\r\n b"',
  'Content-Disposition: form-data',
  'Content-Disposition: attachment; name="n"',
  'Content-Type: application/json',
  `X: ${'y'.repeat(90_000)}`,
  '',
]

/** Parts of all kinds and sizes, wrong in places, and where the whole is cut or broken. */
const broken = fc.record({
  parts: fc.array(
    fc.record({ head: fc.constantFrom(...HEADS), size: fc.constantFrom(0, 1, 16_384, 65_536, 200_000) }),
    { maxLength: 4 },
  ),
  boundary: fc.constantFrom('b', 'B', 'b--', ''),
  end: fc.constantFrom('--b--\r\n', '--b--', '--b--\r\nmore', ''),
  cut: fc.double({ min: 0.5, max: 1, noNaN: true }),
  flips: fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { maxLength: 3 }),
})

test('a form that is wrong anywhere is read or refused, and holds nobody up', async () => {
  await fc.assert(
    fc.asyncProperty(broken, async ({ parts, boundary, end, cut, flips }) => {
      const text = parts.map(({ head, size }) => `--b\r\n${head}\r\n\r\n${'x'.repeat(size)}\r\n`).join('')
      const whole = Buffer.from(text + end)
      for (const [at, byte] of flips) if (at < whole.length) whole[at] = byte
      const body = new Uint8Array(whole.subarray(0, Math.ceil(whole.length * cut)))
      const request = raw(body, { 'content-type': `multipart/form-data; boundary=${boundary}` })
      const form = await readForm(request, bodyTerms(MAX), { releases }).catch((error: unknown) => error)
      endExchange()
      if (form instanceof GatewayError) expect(form.kind).toBe('invalid_request')
      else expect(form).toMatchObject({ parts: expect.any(Array) })
    }),
    { numRuns: 150 },
  )
})

/** The runner fails a test in which anything is thrown that nobody catches. */
test('a form that ends in a file after parts that are passed over is refused, and nothing is thrown beside', async () => {
  const part = (head: string, bytes: number) => `--b\r\n${head}\r\n\r\n${'x'.repeat(bytes)}\r\n`
  const file = 'Content-Disposition: form-data; name="f"; filename="a.png"'
  const whole = part('X: y', 65_536) + part('X: y', 16_384) + part(file, 200_000)
  for (let end = 84_000; end < 142_000; end += 1000) {
    const error = await errorOf(readForm(raw(whole.slice(0, end)), bodyTerms(MAX), { releases }))
    expect(error.kind).toBe('invalid_request')
  }
})

describe('what is no form is a 400 that echoes nothing', () => {
  const part = '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nsecret'
  test.each([
    ['another type', raw('{}', { 'content-type': 'application/json' }), 'unsupported_media_type'],
    ['no boundary', raw(part, { 'content-type': 'multipart/form-data' }), 'invalid_request'],
    ['another boundary', raw('--c\r\n\r\n--c--'), 'invalid_request'],
    ['an end in the middle of a file', raw(part), 'invalid_request'],
    ['nothing', raw(''), 'invalid_request'],
    ['an unknown encoding', raw(part, { 'content-encoding': 'lzma' }), 'unsupported_encoding'],
    ['not so compressed', raw(part, { 'content-encoding': 'gzip' }), 'invalid_request'],
    [
      'a value that should be a file',
      raw(`--b\r\ncontent-disposition: form-data; name="v"\r\n\r\n${'x'.repeat(2_000_000)}\r\n--b--\r\n`),
      'invalid_request',
    ],
  ])('%s', async (_, request, kind) => {
    const error = await errorOf(readForm(request, bodyTerms(MAX), { releases }))
    expect(error.kind).toBe(kind as GatewayError['kind'])
    expect(error.message).not.toContain('secret')
  })

  test('too large by its own account, by what arrives, by what it unpacks to', async () => {
    const large = new FormData()
    large.append('file', new File([noise(2_000_000)], 'f'))
    expect((await errorOf(read(large, 1_000_000))).kind).toBe('body_too_large')
    const bytes = await new Response(large).bytes()
    const chunked = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 50_000) controller.enqueue(bytes.slice(at, at + 50_000))
        controller.close()
      },
    })
    const streamed = new Request('http://x', {
      method: 'POST',
      body: chunked,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    })
    expect((await errorOf(readForm(streamed, bodyTerms(1_000_000), { releases }))).kind).toBe(
      'body_too_large',
    )
    const bomb = raw(Bun.gzipSync(new Uint8Array(5_000_000)), { 'content-encoding': 'gzip' })
    expect((await errorOf(readForm(bomb, bodyTerms(1_000_000), { releases }))).kind).toBe('body_too_large')
  })
})

test('a disk that takes no files is no fault of the form', async () => {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = join(tmpdir(), 'nobody-made-this')
  try {
    const body = new FormData()
    body.set('file', new File([noise(100_000)], 'a.mp3'))
    const request = new Request('http://x', { method: 'POST', body })
    const error = await errorOf(readForm(request, bodyTerms(MAX), { releases }))
    expect(error).toMatchObject({
      kind: 'overloaded',
      status: 503,
      detail: expect.stringContaining('ENOENT'),
    })
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
})
