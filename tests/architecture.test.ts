import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'

/**
 * Which folder may import which, as ARCHITECTURE.md draws it. A folder sees the rows below its own; folders of one
 * row do not see each other, but for the exceptions named here.
 */
const ROWS: readonly (readonly string[])[] = [
  ['main.ts'],
  ['commands'],
  ['surfaces', 'console', 'ops', 'simulator'],
  ['exchange'],
  ['accounts', 'limits', 'routing', 'upstream', 'formats', 'pricing', 'ledger', 'stored-responses'],
  ['generation', 'sse', 'telemetry', 'db', 'redis', 'config', 'secrets'],
  ['errors', 'json', 'clock', 'net'],
]

/** Pairs that may meet although their rows say no. */
const ALLOWED = new Set(['routing>upstream'])

/** Pairs that may not meet although their rows say yes. */
const FORBIDDEN = new Set([
  'console>exchange',
  'console>formats',
  'ops>exchange',
  'ops>formats',
  'simulator>exchange',
  'simulator>formats',
])

/** Leaves whose row may look at one another, since each is a vocabulary of its own; but no two at each other. */
const LEAF_ROW = 5

/** The same within exchange/: what is nearer to the caller, and the kinds of exchanges, above what serves them. */
const EXCHANGE_ROWS: readonly (readonly string[])[] = [
  ['responses', 'idempotency', 'videos', 'count-tokens.ts'],
  ['exchange.ts', 'attendance.ts'],
  ['call.ts'],
  ['operations'],
  ['relay'],
  ['conversation.ts'],
  ['attempt'],
  ['gateway.ts'],
  ['pass.ts'],
  ['billing'],
  ['admission'],
  ['failure.ts', 'results'],
  ['record.ts', 'interruption.ts', 'open-exchanges.ts', 'answer-queue.ts', 'watchdog.ts'],
]

/** The same within formats/: wire formats do not see one another, so that one can be read, added or left out alone. */
const FORMAT_ROWS: readonly (readonly string[])[] = [
  ['registry.ts'],
  [
    'openai-chat-completions',
    'openai-responses',
    'anthropic-messages',
    'gemini-generate-content',
    'lowering',
  ],
  ['openai'],
  ['faults', 'media', 'signatures', 'tools'],
  ['codec.ts', 'queued-encoder.ts'],
  ['plain'],
  ['shape.ts', 'unread-fields.ts'],
  [
    'answer-losses.ts',
    'answer-numbers.ts',
    'block-queue.ts',
    'cumulative-usage.ts',
    'deepseek.ts',
    'effort.ts',
    'extensions.ts',
    'field-names.ts',
    'fitted-values.ts',
    'invalid.ts',
    'model-edit.ts',
    'one-piece.ts',
    'remembered.ts',
    'schemas',
    'spelling.ts',
    'surrogates.ts',
  ],
  ['losses.ts'],
]

/** The subjects of the console, those that may import others above them. */
const CONSOLE_ROWS = [['catalog'], ['accounts'], ['money', 'requests', 'sign-in']]

/** The first line of something exported. */
const EXPORT = /^export (?:async |abstract )*(?:function\*?|class|interface|type|const) \w/

/** The name of something exported. */
const EXPORTED = /^export (?:async |abstract )*(?:function\*?|class|interface|type|const) (\w+)/gm

/** What a file takes from others, by the names that it has there. */
function importedNames(source: string): string[] {
  const inBraces = source.matchAll(/\{([^{}]*)\} (?:from '|= await import\()/g)
  const ofModules = source.matchAll(/^import \* as (\w+)/gm)
  return [
    ...[...inBraces].flatMap(([, list = '']) => firsts(list, /(?:^|,)\s*(?:type )?(\w+)/g)),
    ...[...ofModules].flatMap(([, module = '']) => firsts(source, new RegExp(`\\b${module}\\.(\\w+)`, 'g'))),
  ]
}

/** What a pattern's group holds, wherever it matches. */
function firsts(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, first = '']) => first)
}

/** Whether a schema of that name is made on a line. */
function isMade(line: string, name: string): boolean {
  return line.startsWith(`const ${name} = `) || line.startsWith(`export const ${name} = `)
}

interface Import {
  file: string
  target: string
  /** Their folders. */
  from: string
  to: string
}

async function readImports(): Promise<Import[]> {
  const imports: Import[] = []
  for await (const file of new Glob('**/*.{ts,tsx}').scan('src')) {
    const source = await Bun.file(`src/${file}`).text()
    for (const [, target = ''] of source.matchAll(/(?:from|import) '(@\/[^']+|\.\.?\/[^']+)'/g)) {
      const path = resolve(file, target)
      imports.push({ file, target: path, from: folderOf(file), to: folderOf(path) })
    }
  }
  return imports
}

function folderOf(path: string): string {
  return path.split('/')[0] ?? path
}

function resolve(file: string, target: string): string {
  if (target.startsWith('@/')) return target.slice(2)
  return new URL(target, `file:///${file}`).pathname.slice(1)
}

/** Files that import one another, over however many others and be it only for a type; the last is the first again. */
function findCircle(imports: readonly Import[]): string[] | undefined {
  const targets = Map.groupBy(imports, ({ file }) => file)
  const done = new Set<string>()
  const follow = (file: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file]
    if (done.has(file)) return undefined
    for (const { target } of targets.get(file) ?? []) {
      const circle = follow(target, [...way, file])
      if (circle !== undefined) return circle
    }
    done.add(file)
    return undefined
  }
  for (const file of targets.keys()) {
    const circle = follow(file, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

/** The files that come with one, over however many others. */
function loadedWith(first: string, imports: readonly Import[]): Set<string> {
  const targets = Map.groupBy(imports, ({ file }) => file)
  const loaded = new Set([first])
  // It grows while it is gone through.
  for (const file of loaded) for (const { target } of targets.get(file) ?? []) loaded.add(target)
  return loaded
}

function rowOf(folder: string): number {
  return ROWS.findIndex(row => row.includes(folder))
}

/** Whether an import within a folder that has rows of its own stays where it is or points down. */
function isDown({ file, target }: Import, rows: readonly (readonly string[])[]): boolean {
  const from = stepOf(file)
  const to = stepOf(target)
  const row = rows.findIndex(steps => steps.includes(from))
  return from === to || (row >= 0 && row < rows.findIndex(steps => steps.includes(to)))
}

function stepOf(path: string): string {
  return path.split('/')[1] ?? path
}

function isLawful({ from, to }: Import): boolean {
  const pair = `${from}>${to}`
  if (from === to || ALLOWED.has(pair)) return true
  if (FORBIDDEN.has(pair)) return false
  if (rowOf(from) === LEAF_ROW && rowOf(to) === LEAF_ROW) return true
  return rowOf(from) < rowOf(to)
}

describe('the dependency picture', async () => {
  const imports = await readImports()

  test('reads the whole tree', () => {
    expect(imports.length).toBeGreaterThan(100)
  })

  test('knows the row of every folder', () => {
    const folders = new Set(imports.flatMap(({ from, to }) => [from, to]))
    expect([...folders].filter(folder => rowOf(folder) < 0)).toEqual([])
  })

  test('imports point down', () => {
    expect(imports.filter(found => !isLawful(found)).map(({ file, to }) => `${file} imports ${to}`)).toEqual(
      [],
    )
  })

  test.each([
    ['exchange', 'they run with the way of a request', EXCHANGE_ROWS],
    ['formats', 'no wire format sees another', FORMAT_ROWS],
  ] as const)('within %s/ %s', (folder, _, rows) => {
    const within = imports.filter(({ from, to }) => from === folder && to === folder)
    expect(within.length).toBeGreaterThan(100)
    expect(
      within.filter(found => !isDown(found, rows)).map(({ file, target }) => `${file} imports ${target}`),
    ).toEqual([])
  })

  test('within a wire format requests and answers do not see each other', () => {
    const side = (path: string) => path.match(/^formats\/[^/]+\/(request|answer)\//)?.[1]
    const among = imports.filter(({ file, target }) => side(file) !== undefined && side(target) !== undefined)
    expect(among.length).toBeGreaterThan(100)
    expect(
      among
        .filter(({ file, target }) => side(file) !== side(target))
        .map(({ file, target }) => `${file} imports ${target}`),
    ).toEqual([])
  })

  test('the subjects of the console import one another one way', () => {
    const subjects = CONSOLE_ROWS.flat()
    const among = imports.filter(
      ({ file, target, from, to }) =>
        from === 'console' &&
        to === 'console' &&
        subjects.includes(stepOf(file)) &&
        subjects.includes(stepOf(target)),
    )
    expect(among.length).toBeGreaterThan(10)
    expect(
      among
        .filter(found => !isDown(found, CONSOLE_ROWS))
        .map(({ file, target }) => `${file} imports ${target}`),
    ).toEqual([])
  })

  test("the console's pages know nothing of the rest but its contract", () => {
    const isPage = (path: string) => path.startsWith('console/web/')
    const outward = imports.filter(({ file, target }) => isPage(file) && !isPage(target))
    expect(outward.length).toBeGreaterThan(10)
    expect(
      outward
        .filter(({ target }) => !target.startsWith('console/api/contract/'))
        .map(({ file, target }) => `${file} imports ${target}`),
    ).toEqual([])
  })

  test('of two leaves one at most imports the other', () => {
    const pairs = new Set(
      imports
        .filter(({ from, to }) => from !== to && rowOf(from) === LEAF_ROW && rowOf(to) === LEAF_ROW)
        .map(({ from, to }) => `${from}>${to}`),
    )
    expect(pairs.size).toBeGreaterThan(0)
    expect([...pairs].filter(pair => pairs.has(pair.split('>').toReversed().join('>')))).toEqual([])
  })

  test('the program has its commands without loading the gateway', () => {
    const loaded = loadedWith('commands/program.ts', imports)
    expect(loaded).toContain('commands/serve.ts')
    expect([...loaded].filter(file => file.startsWith('surfaces/'))).toEqual([])
  })

  test('no file imports itself, over whichever others', () => {
    expect(findCircle(imports)).toBeUndefined()
  })

  test('sees a circle', () => {
    const link = (file: string, target: string): Import => ({ file, target, from: '', to: '' })
    const imports = [link('a', 'b'), link('b', 'c'), link('b', 'd'), link('d', 'b')]
    expect(findCircle(imports)).toEqual(['b', 'd', 'b'])
  })
})

describe('metering is the only door to an upstream', () => {
  /** The files of src in which a pattern stands. */
  const filesWith = async (pattern: RegExp) => {
    const found: string[] = []
    for await (const file of new Glob('**/*.ts').scan('src')) {
      if (pattern.test(await Bun.file(`src/${file}`).text())) found.push(file)
    }
    return found.sort()
  }

  test('the client is built once and handed over behind the door', async () => {
    expect(await filesWith(/createUpstreamClient\(|behindDoor\(/)).toEqual([
      'commands/serve/console.ts',
      'commands/serve/gateway.ts',
      'exchange/pass.ts',
      'upstream/client.ts',
    ])
  })

  test("the console's own client serves the operator's test of a channel, which nobody pays for, and nothing else", async () => {
    expect(await filesWith(/\bupstream\(\{/)).toEqual(['console/catalog/channel-test.ts'])
  })

  test('it is called in one place, which wants a pass', async () => {
    expect(await filesWith(/\bclient\((?!request\))/)).toEqual(['exchange/attempt/attempt.ts'])
  })

  test('passes are made where limits and money are taken, and nowhere else', async () => {
    expect(await filesWith(/new PassProof/)).toEqual(['exchange/pass.ts'])
  })

  test('nobody else fetches', async () => {
    const found = await filesWith(/(?:await|return|=>|=) fetch\(/)
    // Media by address carry no key and cost nothing; the console's pages run in browsers; its playground is a client
    // of the API host like any other.
    expect(found.filter(file => !file.startsWith('console/web/'))).toEqual([
      'console/playground.ts',
      'upstream/client.ts',
      // Where an answer of the client's led to.
      'upstream/download.ts',
      'upstream/media.ts',
    ])
  })
})

describe('habits that a linter does not know', () => {
  test('what a file exports is explained, exports that stand together in one comment and the type of a schema at the schema', async () => {
    const silent: string[] = []
    for await (const file of new Glob('**/*.{ts,tsx}').scan('src')) {
      const lines = (await Bun.file(`src/${file}`).text()).split('\n')
      const isExplained = (index: number) => lines[index - 1]?.endsWith('*/') === true
      for (const [index, line] of lines.entries()) {
        if (!EXPORT.test(line) || EXPORT.test(lines[index - 1] ?? '')) continue
        const [, schema] = /= Static<typeof (\w+)>$/.exec(line) ?? []
        const place = schema === undefined ? index : lines.findIndex(text => isMade(text, schema))
        if (!isExplained(place)) silent.push(`${file}:${index + 1} ${line}`)
      }
    }
    expect(silent).toEqual([])
  })

  test('what a file exports, another one imports', async () => {
    const imported = new Set<string>()
    const exported: { file: string; name: string }[] = []
    for await (const file of new Glob('{src,tests,.ci}/**/*.{ts,tsx}').scan({ dot: true })) {
      const source = await Bun.file(file).text()
      for (const name of importedNames(source)) imported.add(name)
      // What the schema exports, drizzle reads; what WebAssembly modules and trials export, whoever loads them.
      if (file === 'src/db/schema.ts' || /\/wasm\/|^tests\/chaos\//.test(file)) continue
      for (const name of firsts(source, EXPORTED)) exported.push({ file, name })
    }
    expect(exported.filter(({ name }) => !imported.has(name))).toEqual([])
  })

  test('no file is called after nothing in particular', async () => {
    const vague: string[] = []
    for await (const file of new Glob('**/*.ts').scan('src')) {
      if (/(?:^|\/)(?:utils?|helpers?|common|manager|base|misc|index)\.ts$/.test(file)) vague.push(file)
    }
    expect(vague).toEqual([])
  })

  test('vendors are known by their types only: no SDK is imported as code', async () => {
    const imported: string[] = []
    for await (const file of new Glob('**/*.ts').scan('src')) {
      const source = await Bun.file(`src/${file}`).text()
      if (/^import (?!type)[^\n]*from '(?:openai|@anthropic-ai\/sdk|@google\/genai)/m.test(source))
        imported.push(file)
    }
    expect(imported).toEqual([])
  })
})
