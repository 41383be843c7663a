import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { buildBundle } from '@/console/bundle.ts'

const bundle = await buildBundle()
const page = new TextDecoder().decode(bundle.index.body)

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

  test('take nothing of the server but types', async () => {
    const taken: string[] = []
    for await (const file of new Glob('**/*.{ts,tsx}').scan('src/console/web')) {
      const source = await Bun.file(`src/console/web/${file}`).text()
      for (const [, type, target = ''] of source.matchAll(/^import (type )?[^']*?from '([^']+)'/gm)) {
        const isPackage = !target.startsWith('.') && !target.startsWith('@/')
        const isInside = new URL(target, `file:///web/${file}`).pathname.startsWith('/web/')
        if (type === undefined && !isPackage && !isInside) taken.push(`${file} takes ${target}`)
      }
    }
    expect(taken).toEqual([])
  })

  test('set no HTML from text', async () => {
    for await (const file of new Glob('**/*.{ts,tsx}').scan('src/console/web')) {
      expect(await Bun.file(`src/console/web/${file}`).text()).not.toMatch(
        /dangerouslySetInnerHTML|innerHTML/,
      )
    }
  })
})
