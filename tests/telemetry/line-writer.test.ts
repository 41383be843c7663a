import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '#tests/support/upstreams/upstream.ts'
import { LineWriter } from '@/telemetry/line-writer.ts'

const PROCESS = new URL('line-process.ts', import.meta.url).pathname

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tollgate-lines-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

interface Line {
  name: string
  line: number
}

function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

function counted(lines: number): number[] {
  return Array.from({ length: lines }, (_, line) => line)
}

describe('what a process has logged when it ends is written, in order and once', () => {
  const ways = [
    ['by process.exit', 'exit', 3],
    ['by an exception', 'throw', 1],
    ['because nothing is left to do', 'return', 0],
  ] as const
  // About where the first write has just been given away.
  const counts = [10, 1300, 1450, 1600, 5000]

  test.each(ways)('%s', async (_how, end, code) => {
    for (const count of counts) {
      const child = Bun.spawn([process.execPath, PROCESS, 'one', String(count), 'alone', end], {
        stdout: 'pipe',
        stderr: 'ignore',
      })
      const lines = linesOf(await new Response(child.stdout).text())
      expect(lines.map(({ line }) => line)).toEqual(counted(count))
      expect(await child.exited).toBe(code)
    }
  })

  test.each([
    ['many lines', 'one', 5000],
    ['one line that is more than a pipe holds', 'x'.repeat(100_000), 1],
  ])('to a reader who is slow: %s', async (_what, name, count) => {
    const child = Bun.spawn(
      ['sh', '-c', `"$0" "$1" "$2" ${count} alone exit | { sleep 1; cat; }`, process.execPath, PROCESS, name],
      { stdout: 'pipe' },
    )
    const lines = linesOf(await new Response(child.stdout).text())
    expect(lines.map(({ line }) => line)).toEqual(counted(count))
  })
})

test("processes that share a pipe do not write into one another's lines", async () => {
  const both = `"$0" "$1" one 4000 shared exit & "$0" "$1" other 4000 shared exit & wait`
  const child = Bun.spawn(['sh', '-c', both, process.execPath, PROCESS], { stdout: 'pipe' })
  const text = await new Response(child.stdout).text()
  // A line that is too long for one piece is the one that may be torn.
  const lines = linesOf(text.replace(/^.*word.*$/gm, ''))
  for (const name of ['one', 'other']) {
    const own = lines.filter(line => line.name === name).map(({ line }) => line)
    expect(own).toEqual(own.toSorted((one, other) => one - other))
    expect(own.length).toBeGreaterThanOrEqual(4000 - 3 * 4)
  }
})

test('a process whose reader is gone goes on', async () => {
  const child = Bun.spawn(
    [
      'sh',
      '-c',
      `{ "$0" "$1" one 3000 alone linger; echo "ended $?" >&2; } | true`,
      process.execPath,
      PROCESS,
    ],
    { stdout: 'ignore', stderr: 'pipe' },
  )
  expect(await new Response(child.stderr).text()).toBe('ended 0\n')
})

test('a process whose reader stands still ends all the same', async () => {
  const child = Bun.spawn(
    [
      'sh',
      '-c',
      `{ "$0" "$1" one 5000 alone exit; echo "ended $?" >&2; } | sh -c 'echo "reader $$" >&2; exec sleep 600'`,
      process.execPath,
      PROCESS,
    ],
    { stdout: 'ignore', stderr: 'pipe' },
  )
  const said = child.stderr.getReader()
  let text = ''
  while (!text.includes('ended')) text += new TextDecoder().decode((await said.read()).value)
  process.kill(Number(/^reader (\d+)$/m.exec(text)?.[1]))
  expect(text).toContain('ended 3\n')
}, 60_000)

describe('a writer', () => {
  function open(name: string, maxWriteBytes?: number) {
    const path = join(directory, name)
    const fd = openSync(path, 'w')
    const writer = new LineWriter({ fd, maxWriteBytes })
    return { writer, read: () => readFileSync(path, 'utf8'), close: () => closeSync(fd) }
  }

  test('writes a single line without being asked to', async () => {
    const { writer, read, close } = open('single')
    writer.write('héllo 世界\n')
    expect(read()).toBe('')
    await until(() => read() !== '')
    expect(read()).toBe('héllo 世界\n')
    close()
  })

  test('writes all that it took in, whatever the size of its pieces', async () => {
    for (const maxWriteBytes of [undefined, 1, 7, 100, 4096]) {
      const { writer, read, close } = open(`pieces-${maxWriteBytes}`, maxWriteBytes)
      const lines = Array.from({ length: 300 }, (_, line) => `${'ü'.repeat(line % 40)}${line}\n`)
      for (const line of lines.slice(0, 200)) writer.write(line)
      await until(() => read() === lines.slice(0, 200).join(''))
      for (const line of lines.slice(200)) writer.write(line)
      writer.flushSync()
      expect(read()).toBe(lines.join(''))
      close()
    }
  })

  test('keeps no more than 64 MB for a reader who stands still, and tells of each line beyond that', async () => {
    const fifo = join(directory, 'still')
    expect(Bun.spawnSync(['mkfifo', fifo]).exitCode).toBe(0)
    const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
    let dropped = 0
    const writer = new LineWriter({
      fd,
      onDropped: () => {
        dropped += 1
      },
    })
    const line = `${'x'.repeat(1024 * 1024 - 1)}\n`
    // The first is on its way at once; the one that goes beyond the 64 is still taken.
    for (let count = 0; count < 1 + 65 + 14; count += 1) writer.write(line)
    expect(dropped).toBe(14)
    const reader = Bun.spawn(['sh', '-c', `head -n 66 ${fifo} | wc -l`], { stdout: 'pipe' })
    expect(Number(await new Response(reader.stdout).text())).toBe(66)
    writer.flushSync()
    closeSync(fd)
  })

  test('writes again what could not be written, and nothing twice', async () => {
    const fifo = join(directory, 'fifo')
    expect(Bun.spawnSync(['mkfifo', fifo]).exitCode).toBe(0)
    // Open for both ends, and not to be waited for: it takes what it holds and then says that it is full.
    const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
    const writer = new LineWriter({ fd })
    const lines = Array.from({ length: 4000 }, (_, line) => `${line} ${'x'.repeat(90)}\n`)
    for (const line of lines) writer.write(line)
    const reader = Bun.spawn(['head', '-n', '4000', fifo], { stdout: 'pipe' })
    expect(await new Response(reader.stdout).text()).toBe(lines.join(''))
    writer.flushSync()
    closeSync(fd)
  })
})
