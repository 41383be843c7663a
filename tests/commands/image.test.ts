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
  expect(dockerfile).toContain(`npm install --global --allow-scripts=bun ${packageManager}\n`)
})

test.each([
  [200, 0],
  [503, 1],
])(
  'the image is as healthy as /readyz says, also where upstreams have a proxy: %d',
  async (status, exitCode) => {
    using ops = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('', { status }) })
    const [, words = '[]'] = /HEALTHCHECK .*\\\n +CMD (.+)$/m.exec(dockerfile) ?? []
    const [, ...args]: string[] = JSON.parse(words)
    const proxies = { HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9' }
    const check = Bun.spawn([process.execPath, ...args], {
      env: { ...process.env, ...proxies, OPS_PORT: `${ops.port}` },
      stderr: 'ignore',
    })
    expect(await check.exited).toBe(exitCode)
  },
)
