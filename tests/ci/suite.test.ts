import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SCRIPT = new URL('../../.ci/suite.ts', import.meta.url).pathname
const scratch = mkdtempSync(join(tmpdir(), 'tollgate-suite-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const START = `import { expect, test } from 'bun:test'\n`
const GOOD = `${START}test('good', () => {})\n`
const BAD = `${START}test('good', () => {})\ntest('bad', () => { expect('left').toBe('right') })\n`
/** Fails in its first run only. */
const FLAKY = `${START}import { existsSync, writeFileSync } from 'node:fs'
test('flaky', () => {
  const second = existsSync('ran')
  writeFileSync('ran', '')
  expect(second).toBe(true)
})\n`

interface Outcome {
  counts: string
  report: string
  /** How often the runner ran, the files tried again included. */
  runs: number
}

/** Runs a suite of planted files, by their names without the ending. */
async function runSuite(files: Record<string, string>, env: Record<string, string> = {}): Promise<Outcome> {
  const directory = mkdtempSync(join(scratch, 'suite-'))
  mkdirSync(join(directory, 'out'))
  await Bun.write(join(directory, 'package.json'), '{ "scripts": { "test": "bun test --timeout 20000" } }')
  for (const [name, source] of Object.entries(files)) {
    await Bun.write(join(directory, 'tests', `${name}.test.ts`), source)
  }
  const child = Bun.spawn([process.execPath, SCRIPT, join(directory, 'out'), 'planted', 'PLANTED=yes'], {
    cwd: directory,
    env: { PATH: process.env['PATH'], ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const output = await child.stdout.text()
  expect(await child.exited).toBe(0)
  return {
    counts: (await Bun.file(join(directory, 'out/planted.counts')).text()).trim(),
    report: await Bun.file(join(directory, 'out/planted.report')).text(),
    runs: output.split('$ bun test').length - 1,
  }
}

describe('the suite as CI runs it', () => {
  test('counts what passed and reports nothing when nothing failed', async () => {
    expect(await runSuite({ a: GOOD, b: GOOD })).toEqual({ counts: '2 0', report: '', runs: 1 })
  })

  test('runs a file that failed once more, and counts and reports what fails again', async () => {
    const { counts, report, runs } = await runSuite({ a: GOOD, b: BAD })
    expect({ counts, runs }).toEqual({ counts: '2 1', runs: 2 })
    expect(report).toContain('Expected: "right"\nReceived: "left"')
    expect(report.trimEnd()).toEndWith('failed: planted: tests/b.test.ts: bad')
  })

  test('counts what passes the second time as passed, and says that it is flaky and why it failed', async () => {
    const { counts, report, runs } = await runSuite({ a: GOOD, b: FLAKY })
    expect({ counts, runs }).toEqual({ counts: '2 0', runs: 2 })
    expect(report).toContain('Expected: true\nReceived: false')
    expect(report.trimEnd()).toEndWith('flaky:  planted: tests/b.test.ts: flaky')
  })

  test('tells the flaky from the failed', async () => {
    const { counts, report, runs } = await runSuite({ a: FLAKY, b: BAD })
    expect({ counts, runs }).toEqual({ counts: '2 1', runs: 3 })
    expect(report).toContain('flaky:  planted: tests/a.test.ts: flaky')
    expect(report).toContain('failed: planted: tests/b.test.ts: bad')
  })

  test('tries nothing again when more than five files failed', async () => {
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, BAD]))
    expect(await runSuite(files(5))).toMatchObject({ counts: '5 5', runs: 6 })
    expect(await runSuite(files(6))).toMatchObject({ counts: '6 6', runs: 1 })
  })

  test('runs the second time with the environment of the first', async () => {
    const needy = `${START}test('needy', () => { expect(process.env['PLANTED']).toBe('yes') })\n`
    expect((await runSuite({ a: FLAKY, b: needy })).counts).toBe('2 0')
    expect((await runSuite({ a: FLAKY + needy.replace(START, '') })).counts).toBe('2 0')
  })

  test.each([
    ['a process that ends itself', 'process.exit(0)', 'status 0', 60],
    ['a process that ends itself as if tests had failed', 'process.exit(1)', 'status 1', 60],
    ['a process that is killed', `process.kill(process.pid, 'SIGSEGV')`, 'having counted 0 passed', 60],
    ['a process that hangs', 'for (;;) {}', 'status 124', 3],
  ])('never tries again: %s', async (_, body, said, seconds) => {
    const crash = `${START}test('crash', () => { ${body} })\n`
    const { counts, report, runs } = await runSuite({ a: FLAKY, b: crash }, { SUITE_SECONDS: `${seconds}` })
    expect(Number(counts.split(' ')[1])).toBeGreaterThan(0)
    expect(runs).toBe(1)
    expect(report).toContain(said)
    expect(report).toContain('failed: planted: the run ended with status')
  })

  test('counts a file that cannot be loaded and an error outside any test', async () => {
    const { counts, report } = await runSuite({
      a: GOOD,
      b: `import './nothing.ts'\n${GOOD}`,
      c: `${START}import { describe } from 'bun:test'\ndescribe('x', () => { throw new Error('early') })\n${GOOD.replace(START, '')}`,
    })
    expect(counts).toBe('2 2')
    expect(report).toContain('failed: planted: tests/b.test.ts: (outside any test)')
    expect(report).toContain('failed: planted: tests/c.test.ts: (outside any test)')
  })

  test('counts each failure once although the runner lists them again after many tests', async () => {
    const many = `test.each(Array.from({ length: 40 }, (_, index) => index))('good %d', () => {})\n`
    const other = `test.skip('left out', () => {})\ntest.todo('to do')\n`
    const { counts, report } = await runSuite({ a: GOOD + many + other, b: BAD, c: FLAKY })
    expect(counts).toBe('43 1')
    expect(report.match(/^(failed|flaky): .*$/gm)?.toSorted()).toEqual([
      'failed: planted: tests/b.test.ts: bad',
      'flaky:  planted: tests/c.test.ts: flaky',
    ])
  })

  test('keeps the reason of a test that ran out of time', async () => {
    const slow = `${START}test('good', () => {})\ntest('slow', () => new Promise(() => {}), 500)\n`
    expect((await runSuite({ a: slow })).report).toContain('this test timed out after 500ms')
  })

  test('trusts no log that names a failure which the runner did not count', async () => {
    const liar = `${GOOD}test('liar', () => { console.log('(fail) somebody') })\n`
    const { counts, runs } = await runSuite({ a: FLAKY, b: liar })
    expect(counts.endsWith(' 0')).toBe(false)
    expect(runs).toBe(1)
  })

  test('cuts a long text and keeps its beginning and its end', async () => {
    const lines = `for (let i = 0; i < 500; i += 1) console.log('line', i)`
    const long = `${START}test('good', () => {})\ntest('long', () => { ${lines}; throw new Error('the end') })\n`
    const { report } = await runSuite({ a: long })
    expect(report).toContain('line 0\n')
    expect(report).toContain('error: the end')
    expect(report).not.toContain('line 250\n')
    expect(report.split('\n').length).toBeLessThan(80)
  })
})
