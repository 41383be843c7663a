import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'

const ROOT = new URL('../..', import.meta.url).pathname
const scan = (pattern: string) => [...new Glob(pattern).scanSync({ cwd: ROOT, dot: true })]

const FILES = scan('{.ci,docs,drizzle,examples,patches,src,tests}/**/*').concat(scan('*'))

/** A path as prose names it: a file of ours by the end of its path, or a folder with its slash. */
const FILE = /(?<![\w@/.:<*-])(?:[\w-][\w.-]*\/)*[\w-]+(?:\.test)?\.(?:tsx?|lua|sql)\b(?!\/)/g
const FOLDER = /`((?:src|tests|docs|drizzle|examples|[a-z-]+)\/(?:[\w-]+\/)*)`/g

const isThere = (path: string) => FILES.some(file => file === path || file.endsWith(`/${path}`))
const isFolder = (path: string) =>
  FILES.some(file => file.startsWith(path) || file.includes(`/${path}`)) || path === 'node_modules/'

/** What a text names and the tree does not have. */
function unknownPaths(text: string): string[] {
  const files = [...text.matchAll(FILE)].map(([path]) => path).filter(path => !isThere(path))
  const folders = [...text.matchAll(FOLDER)].map(([, path = '']) => path).filter(path => !isFolder(path))
  return [...files, ...folders]
}

/** The comments of a source: what stands between its strings is not told apart, and a `//` in an address is none. */
function commentsOf(source: string): string {
  return [...source.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm)].map(([comment]) => comment).join('\n')
}

describe('what is named is there', () => {
  test('knows what it looks for', () => {
    expect(
      unknownPaths('`exchange/exchange.ts`, exchange.ts, `exchange/relay/`, @/nowhere.ts, ./nowhere.ts'),
    ).toEqual([])
    expect(unknownPaths('`exchange/nowhere.ts` and `formats/nowhere/`')).toEqual([
      'exchange/nowhere.ts',
      'formats/nowhere/',
    ])
  })

  test.each([...scan('*.md'), ...scan('docs/*.md')])('in %s', async page => {
    expect(unknownPaths(await Bun.file(ROOT + page).text())).toEqual([])
  })

  test('the names of ARCHITECTURE.md are those of the code', async () => {
    const [told = ''] = (await Bun.file(`${ROOT}ARCHITECTURE.md`).text()).split('## Decisions')
    const names = [...told.matchAll(/`(?:\w+\.)?(\w*[a-z][A-Z]\w*)[`(]/g)].map(([, name = '']) => name)
    expect(names.length).toBeGreaterThan(15)
    const sources = await Promise.all(scan('src/**/*.{ts,tsx}').map(file => Bun.file(ROOT + file).text()))
    const words = new Set(sources.join('\n').match(/\w+/g))
    expect(names.filter(name => !words.has(name))).toEqual([])
  })

  test('in comments of the sources', async () => {
    const stale: string[] = []
    for (const file of scan('{.ci,src,tests}/**/*.{ts,tsx}')) {
      const source = await Bun.file(ROOT + file).text()
      for (const path of unknownPaths(commentsOf(source))) stale.push(`${file}: ${path}`)
    }
    expect(stale).toEqual([])
  })
})
