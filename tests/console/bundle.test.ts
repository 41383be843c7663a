import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import { serveAsset } from '@/console/assets.ts'
import { buildBundle } from '@/console/bundle.ts'
import { createLog } from '@/telemetry/log.ts'

const bundle = await buildBundle()
const page = new TextDecoder().decode(bundle.index.body)

test('pages that do not build say in the log where they are wrong', async () => {
  const web = mkdtempSync(join(tmpdir(), 'tollgate-pages-'))
  await Bun.write(join(web, 'main.tsx'), "import './theme.ts'\nconst broken = ;\n")
  await Bun.write(join(web, 'theme.ts'), "import './nothing.ts'\n")
  await Bun.write(join(web, 'style.css'), '')
  const lines: string[] = []
  const log = createLog({ level: 'error', format: 'json' }, { write: line => lines.push(line) })
  await buildBundle(web).catch(err => log.error({ err }, 'the pages of the console could not be built'))
  rmSync(web, { recursive: true })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('main.tsx:2: ')
})

describe('the pages of the console', () => {
  test('have less than 150 KB of JavaScript, compressed', () => {
    const scripts = [...bundle.assets.values()].filter(({ path }) => path.endsWith('.js'))
    const bytes = scripts.reduce((sum, { gzip }) => sum + gzip.byteLength, 0)
    expect(bytes).toBeGreaterThan(20_000)
    expect(bytes).toBeLessThan(150 * 1024)
  })

  test('name nothing but their own assets, and all of those that they name are there', () => {
    const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
    expect(named.length).toBe(4)
    expect(named.filter(path => !bundle.assets.has(path))).toEqual([])
  })

  test('have no script and no style in the page, so that a policy without exceptions lets them run', () => {
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)/)
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=/)
  })

  test('evaluate no text as code', () => {
    for (const { path, body } of bundle.assets.values()) {
      if (path.endsWith('.js')) expect(new TextDecoder().decode(body)).not.toMatch(/\beval\(|new Function\(/)
    }
  })

  test('are named by their content, so that a browser may keep them for good', async () => {
    const again = await buildBundle()
    expect([...again.assets.keys()].toSorted()).toEqual([...bundle.assets.keys()].toSorted())
    for (const path of bundle.assets.keys())
      expect(path).toMatch(/^\/assets\/[a-z]+-[a-z0-9]{8,}\.(js|css|svg)$/)
  })

  test('take nothing of the server but types, and what entries are called, which takes nothing itself', async () => {
    const NAMES = '/api/contract/entry-names.ts'
    const taken: string[] = []
    const files = await Array.fromAsync(new Glob('**/*.{ts,tsx}').scan('src/console/web'))
    for (const file of [...files, `..${NAMES}`]) {
      const source = await Bun.file(`src/console/web/${file}`).text()
      for (const [, type, target = ''] of source.matchAll(/^import (type )?[^']*?from '([^']+)'/gm)) {
        const isPackage = !target.startsWith('.') && !target.startsWith('@/')
        const { pathname } = new URL(target, `file:///web/${file}`)
        const isInside = pathname.startsWith('/web/') || pathname === NAMES
        if (type === undefined && !isPackage && !isInside) taken.push(`${file} takes ${target}`)
      }
    }
    expect(taken).toEqual([])
  })

  test.each([
    ['gzip, deflate, br', 'gzip'],
    ['br, gzip;q=0', null],
    ['identity', null],
  ])('are packed where a browser that says %p takes that', (accepted, encoding) => {
    const request = new Request('http://console/keys', { headers: { 'accept-encoding': accepted } })
    expect(serveAsset(bundle, request, '/keys')?.headers.get('content-encoding') ?? null).toBe(encoding)
  })

  test('set no HTML from text', async () => {
    for await (const file of new Glob('**/*.{ts,tsx}').scan('src/console/web')) {
      expect(await Bun.file(`src/console/web/${file}`).text()).not.toMatch(
        /dangerouslySetInnerHTML|innerHTML/,
      )
    }
  })
})
