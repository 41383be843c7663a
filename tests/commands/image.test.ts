import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

/** What the image is built of that comes from the repository.. */
const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
  names.split(' '),
)

test('.dockerignore lets through what the Dockerfile copies, and nothing else', () => {
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n')
  expect(ignored.toSorted()).toEqual(['*', ...new Set(copied.map(name => `!${name}`))].toSorted())
})

test('everything that bun install and the gateway read is copied', () => {
  expect(copied.filter(name => !existsSync(join(root, name)))).toEqual([])
  const { patchedDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const patch of Object.values<string>(patchedDependencies)) {
    expect(copied).toContain(patch.split('/')[0] ?? '')
  }
})

test('the image has the bun that package.json names', () => {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(dockerfile).toContain(`npm install --global ${packageManager}\n`)
})
