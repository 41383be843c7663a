import { closeSync, openSync } from 'node:fs'

/**
 * `bun .ci/suite.ts DIRECTORY NAME [ENV ...]` runs the whole suite as `env ENV ... bun run test`, and each file with a
 * failed test once more by itself. A neighbour can spoil one run of a test that waits for processes and sockets; a
 * regression spoils both. So a file that passes the second time is reported as flaky and counted as passed.
 *
 * A run that crashed, was cut by its time limit or did not count its tests is a failure, whatever else it says, and
 * nothing of it is tried again. Neither is anything when many files failed: that is no neighbour.
 *
 * Prints the log of every run. Leaves in DIRECTORY: NAME.report, what failed and with which error (empty if nothing
 * did), and NAME.counts, `PASSED FAILED`.
 */

/** The longest that the suite may take: a hung one is a failure with its output, not a run without an end. */
const SUITE_SECONDS = Number(process.env['SUITE_SECONDS'] ?? 2100)
/** The longest that one file may take when it is tried again. */
const FILE_SECONDS = Math.min(600, SUITE_SECONDS)
const MOST_FILES = 5
/** Of a failure's text: its beginning holds the error, its end the stack and the name. */
const FIRST_LINES = 20
const LAST_LINES = 40
const LINE_CHARACTERS = 300
/** How many failures are reported with their text; those after them by name alone. */
const MOST_TEXTS = 20
/** Stands for the name of a test where an error came between two of them. */
const OUTSIDE = '(outside any test)'

const HEADER = /^(?:::group::)?(\S+\.test\.tsx?):$/
const FAILED = /\(fail\) (.+?)(?: \[[\d.]+m?s\])?$/
const ENDED = /^\((?:pass|skip|todo)\) /
/** After many tests the runner lists the failed ones once more. */
const RECAP = /^\d+ tests failed:$/
const RULE = /^-{20,}$/

interface Failure {
  file: string
  test: string
  /** What the runner printed between the test before and this one. */
  text: string
}

interface Run {
  log: string
  /** How the run ended, if not by counting its tests. */
  death: string | undefined
  passed: number
  failed: number
  failures: Failure[]
}

const [directory, name, ...environment] = process.argv.slice(2)
if (directory === undefined || name === undefined)
  throw new Error('bun .ci/suite.ts DIRECTORY NAME [ENV ...]')

const first = await run(`${directory}/${name}.log`, SUITE_SECONDS, [])
const recovered = await runFailedAgain(first)
const flaky = first.failures.filter(({ file }) => recovered.has(file)).length
await Bun.write(`${directory}/${name}.report`, report(first, recovered))
await Bun.write(`${directory}/${name}.counts`, `${first.passed + flaky} ${first.failed - flaky}\n`)

/** The files whose second run passed. */
async function runFailedAgain({ death, failures }: Run): Promise<Set<string>> {
  const recovered = new Set<string>()
  const files = [...new Set(failures.map(({ file }) => file))]
  if (death !== undefined || files.length > MOST_FILES) return recovered
  for (const [index, file] of files.entries()) {
    console.log(`\n== once more, by itself: ${file}`)
    const again = await run(`${directory}/${name}-again-${index}.log`, FILE_SECONDS, [`./${file}`])
    if (again.failed === 0) recovered.add(file)
  }
  return recovered
}

async function run(path: string, seconds: number, files: readonly string[]): Promise<Run> {
  // To a file, not through a pipe: a process that outlives its test cannot hold the run open.
  const log = openSync(path, 'a')
  const suite = ['env', ...environment, 'bun', 'run', 'test', ...files]
  const status = await Bun.spawn(['timeout', '--kill-after=30', `${seconds}`, ...suite], {
    stdin: 'ignore',
    stdout: log,
    stderr: log,
  }).exited
  closeSync(log)
  const text = await Bun.file(path).text()
  console.log(text)
  return judge(text, status, seconds)
}

/**
 * Failures are what the runner counted and what it printed outside its tests, which it counts only at times. Where its
 * count and its log do not agree the log cannot be trusted to tell which file failed.
 */
function judge(log: string, status: number, seconds: number): Run {
  const passed = count(log, 'pass')
  const counted = count(log, 'fail')
  const failures = readFailures(log)
  const ofTests = failures.filter(({ test }) => test !== OUTSIDE).length
  const agrees = ofTests <= counted && counted <= failures.length && failures.every(({ file }) => file !== '')
  const whole = /^Ran \d+ tests? across /m.test(log) && passed > 0
  const ended = status === (failures.length > 0 ? 1 : 0)
  const cut = status === 124 || status === 137 ? ` (killed, at the latest after ${seconds} s)` : ''
  const death =
    whole && ended && agrees
      ? undefined
      : `ended with status ${status}${cut}, having counted ${passed} passed and ${counted} failed`
  const failed = Math.max(counted, failures.length) + (death === undefined ? 0 : 1)
  return { log, death, passed, failed, failures }
}

/** `bun test` prints a line with the file's name, then per test what the test printed and a line with its result. */
function readFailures(log: string): Failure[] {
  const failures: Failure[] = []
  let file = ''
  let block: string[] = []
  for (const line of log.split('\n')) {
    if (RECAP.test(line)) break
    const last = failures.at(-1)
    // The reason of a test that ran out of time follows its line.
    if (last !== undefined && block.length === 0 && line.startsWith('  ^ ')) {
      last.text += `\n${line}`
      continue
    }
    block.push(line)
    const header = HEADER.exec(line)?.[1]
    const failed = FAILED.exec(line)?.[1] ?? (endsError(block) ? OUTSIDE : undefined)
    file = header ?? file
    if (failed !== undefined) failures.push({ file, test: failed, text: excerpt(block) })
    if (header !== undefined || failed !== undefined || ENDED.test(line)) block = []
  }
  return failures
}

/** An error outside any test has a line of its own, then its text between two rules. */
function endsError(block: readonly string[]): boolean {
  if (!RULE.test(block.at(-1) ?? '')) return false
  const start = block.findLastIndex(line => line.startsWith('# Unhandled error'))
  return start !== -1 && block.slice(start).filter(line => RULE.test(line)).length === 2
}

function count(log: string, word: 'pass' | 'fail'): number {
  return Number([...log.matchAll(new RegExp(`^ *(\\d+) ${word}$`, 'gm'))].at(-1)?.[1] ?? 0)
}

function excerpt(lines: readonly string[]): string {
  const left = lines.length - FIRST_LINES - LAST_LINES
  const kept =
    left <= 0
      ? lines
      : [...lines.slice(0, FIRST_LINES), `[${left} lines left out]`, ...lines.slice(-LAST_LINES)]
  return kept
    .map(line => line.slice(0, LINE_CHARACTERS))
    .join('\n')
    .trim()
}

/** The texts first and the names last, so that the end of a log that was cut still names every failure. */
function report({ log, death, failures }: Run, recovered: ReadonlySet<string>): string {
  if (failures.length === 0 && death === undefined) return ''
  const lines = [`== what failed in the suite ${name}`]
  for (const { file, test, text } of failures.slice(0, MOST_TEXTS)) lines.push(`\n-- ${file}: ${test}`, text)
  if (death !== undefined) lines.push('\n-- the end of the log', excerpt(log.split('\n').slice(-60)))
  lines.push('')
  for (const { file, test } of failures) {
    lines.push(`${recovered.has(file) ? 'flaky: ' : 'failed:'} ${name}: ${file}: ${test}`)
  }
  if (death !== undefined) lines.push(`failed: ${name}: the run ${death}`)
  return `\n${lines.join('\n')}\n`
}
