import { describe, expect, test } from 'bun:test'
import { Kind, type TSchema } from '@sinclair/typebox'
import { stringify } from 'yaml'
import { ConfigFileError, parseConfigFile } from '@/config/file.ts'
import { fileSchema } from '@/config/schema.ts'

/* Each field of tollgate.yaml, as its schema lists them, with values that somebody may write by mistake. */

type Path = readonly (string | number)[]

/** A schema as it is looked through: what stands within a mapping, a list, or a mapping of any names. */
type Looked = TSchema & {
  properties?: Record<string, TSchema>
  items?: TSchema
  patternProperties?: Record<string, TSchema>
}

/** The way to each field. Of lists the first item stands for all, of free names `free`. */
function pathsOf(schema: Looked, at: Path = []): { path: Path; schema: Looked }[] {
  const within = [
    ...Object.entries(schema.properties ?? {}).map(([name, field]) => pathsOf(field, [...at, name])),
    ...(schema.items === undefined ? [] : [pathsOf(schema.items, [...at, 0])]),
    ...Object.values(schema.patternProperties ?? {}).map(field => pathsOf(field, [...at, 'free'])),
  ]
  return [{ path: at, schema }, ...within.flat()]
}

const FIELDS = pathsOf(fileSchema).map(field => ({ ...field, name: written(field.path) || 'the file' }))

/** What a file must say beside the field. */
const AROUND = {
  channels: [{ name: 'main', format: 'openai-responses', base_url: 'https://api.example.com' }],
  models: [{ id: 'one', channels: [{ channel: 'main' }] }],
}

/** A file in which nothing is wrong but, perhaps, the value of one field. */
function fileWith(path: Path, value: unknown): string {
  const file: unknown = path.length === 0 ? value : structuredClone(AROUND)
  let at: unknown = file
  for (const [index, key] of path.entries()) {
    const isLast = index === path.length - 1
    const next = isLast
      ? value
      : (Reflect.get(Object(at), key) ?? (typeof path[index + 1] === 'number' ? [] : {}))
    Reflect.set(Object(at), key, next)
    at = next
  }
  return stringify(file)
}

function refusal(text: string): readonly string[] {
  try {
    parseConfigFile(text, { name: 'tollgate.yaml', env: {}, known: { channels: new Set() } })
  } catch (error) {
    if (error instanceof ConfigFileError) return error.lines
    throw error
  }
  return []
}

const MISTAKES: readonly unknown[] = [
  null,
  '',
  ' ',
  'hunter2\u0007',
  ' hunter2',
  '10s',
  '64MB',
  -1,
  0.5,
  1e300,
  true,
  [],
  [[]],
  {},
  { hunter2: 1 },
  'hunter2 '.repeat(100),
]

/** What each field refuses of them, at least: whatever a field is, it is not all of these. */
const FEWEST = 5

function written(path: Path): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : (text && `${text}.${key}`) || `${key}`),
    '',
  )
}

describe.each(FIELDS)('$name', ({ path }) => {
  test('says of each wrong value where it is and what it should be, in short lines without what may be a secret', () => {
    let refused = 0
    for (const mistake of MISTAKES) {
      const lines = refusal(fileWith(path, mistake))
      refused += Math.min(lines.length, 1)
      for (const line of lines) {
        expect(line).toMatch(/^tollgate\.yaml:\d+: (?:[\w\-[\].]+: )?\S/)
        expect(line.length).toBeLessThan(600)
        expect(line).not.toMatch(/[\p{C}]/u)
        if (/\.(?:api_keys|headers|smtp|stripe|base_url)/.test(line))
          expect(line.replaceAll('.hunter2', '')).not.toContain('hunter2')
      }
    }
    expect(refused).toBeGreaterThanOrEqual(FEWEST)
  })
})

test.each(FIELDS.filter(({ schema }) => schema[Kind] === 'Object'))(
  '$name knows no other field',
  ({ path }) => {
    const lines = refusal(fileWith(path, { nmae: 1 }))
    const told = ['smtp', 'stripe'].some(name => path.includes(name))
      ? `${written(path)}: has a key that is not known here; known are `
      : `${written([...path, 'nmae'])}: is not known here; known are `
    expect(lines.join('\n')).toContain(told)
  },
)
