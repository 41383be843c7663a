import { parseArgs } from 'node:util'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { FEATURES, isForeign, MODES, PAIRS, type Pair, runCell } from './cells.ts'
import { type Rig, startRig } from './rig.ts'
import { type Mode, SIDES } from './talk.ts'

/** What one square came to. */
type Outcome = 'passes' | 'fails' | 'foreign'

interface Failure {
  feature: string
  pair: Pair
  mode: Mode
  error: unknown
}

/** `bun run matrix [--markdown]`: runs the whole matrix and prints it, or writes it into docs/compatibility.md. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { markdown: { type: 'boolean', default: false } } })
  const failures: Failure[] = []
  const rig = await startRig()
  const rows = new Map<string, Outcome[][]>()
  try {
    for (const feature of FEATURES) {
      const outcomes: Outcome[][] = []
      for (const pair of PAIRS) outcomes.push(await runPair(rig, feature, pair, failures))
      rows.set(feature.name, outcomes)
    }
  } finally {
    await rig.close()
    await closeTestServer()
  }
  if (values.markdown) await writeMarkdown(markdown(rows))
  else console.log(plain(rows))
  for (const { feature, pair, mode, error } of failures) {
    const reason = error instanceof Error ? error.message : String(error)
    console.error(`${feature}, ${pair.caller} > ${pair.upstream}, ${mode}: ${reason.slice(0, 400)}`)
  }
  process.exit(failures.length === 0 ? 0 : 1)
}

async function runPair(
  rig: Rig,
  feature: (typeof FEATURES)[number],
  pair: Pair,
  failures: Failure[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const mode of MODES) {
    if (isForeign(feature, pair, mode)) {
      outcomes.push('foreign')
      continue
    }
    try {
      await runCell(rig, feature, pair, mode)
      outcomes.push('passes')
    } catch (error) {
      outcomes.push('fails')
      failures.push({ feature: feature.name, pair, mode, error })
    }
  }
  return outcomes
}

const LEGEND =
  'Rows: features. Columns: caller > upstream (C Chat Completions, R Responses, M Messages, G Gemini). Each square: whole answer, stream.'

const SIGN = { passes: '+', fails: 'x', foreign: '.' } satisfies Record<Outcome, string>

function plain(rows: Map<string, Outcome[][]>): string {
  const width = Math.max(...[...rows.keys()].map(name => name.length))
  const head = `${' '.repeat(width)}  ${PAIRS.map(letters).join(' ')}`
  const lines = [...rows].map(([name, outcomes]) => {
    const squares = outcomes.map(pair =>
      pair
        .map(outcome => SIGN[outcome])
        .join('')
        .padEnd(3),
    )
    return `${name.padEnd(width)}  ${squares.join(' ')}`
  })
  const sums = `+ passes, x fails, . one of the two formats cannot say it. ${summary(rows)}`
  return [LEGEND, '', head, ...lines, '', sums].join('\n')
}

function letters({ caller, upstream }: Pair): string {
  return `${caller[0]}>${upstream[0]}`.toUpperCase()
}

function summary(rows: Map<string, Outcome[][]>): string {
  const all = [...rows.values()].flat(2).filter(outcome => outcome !== 'foreign')
  return `${all.filter(outcome => outcome === 'passes').length} of ${all.length} squares pass.`
}

/** One column per caller and upstream would be too wide to read: a column per caller, a letter per upstream. */
function markdown(rows: Map<string, Outcome[][]>): string {
  const head = [
    `| | ${SIDES.map(side => `called as ${TITLES[side]}`).join(' | ')} |`,
    `| --- |${SIDES.map(() => ' --- |').join('')}`,
  ]
  const lines = [...rows].map(([name, outcomes]) => {
    const columns = SIDES.map((_, index) =>
      outcomes
        .slice(index * SIDES.length, (index + 1) * SIDES.length)
        .map((pair, upstream) => markOf(pair, SIDES[upstream]?.[0]?.toUpperCase() ?? ''))
        .join(' '),
    )
    return `| ${name} | ${columns.join(' | ')} |`
  })
  const legend =
    "A letter is an upstream format that serves this (C Chat Completions, R Responses, M Messages, G Gemini), whole and streamed; struck through: it fails; a dot: one of the two formats cannot say it. Embeddings and images are called by OpenAI's SDK in the first column and in Google's way in the last."
  return [...head, ...lines, '', `${legend} ${summary(rows)}`].join('\n')
}

const TITLES = {
  chat: 'Chat Completions',
  responses: 'Responses',
  messages: 'Messages',
  gemini: 'Gemini',
} satisfies Record<(typeof SIDES)[number], string>

function markOf(outcomes: readonly Outcome[], letter: string): string {
  if (outcomes.includes('fails')) return `~~${letter}~~`
  return outcomes.includes('passes') ? letter : '·'
}

/** The place of the table: between two marks. */
const PLACE = /<!-- matrix -->[\s\S]*?<!-- \/matrix -->/

async function writeMarkdown(table: string): Promise<void> {
  const path = new URL('../../docs/compatibility.md', import.meta.url).pathname
  const page = await Bun.file(path).text()
  await Bun.write(
    path,
    page.replace(PLACE, () => `<!-- matrix -->\n${table}\n<!-- /matrix -->`),
  )
}

await main()
