import { expect, test } from 'bun:test'

const ROOT = new URL('../..', import.meta.url).pathname

/** A line of the way of a request in ARCHITECTURE.md: what is called, and where it is. */
const STEP = /^ *(\w+) {2,}([\w/-]+\.ts)\b/gm

test('every step of the way of a request is in the file that it is said to be in', async () => {
  const page = await Bun.file(`${ROOT}ARCHITECTURE.md`).text()
  const [, way = ''] = /## The way of a request[\s\S]*?```\n([\s\S]*?)```/.exec(page) ?? []
  const steps = [...way.matchAll(STEP)]
  expect(steps.length).toBeGreaterThan(20)
  const missing: string[] = []
  for (const [, name = '', file = ''] of steps) {
    const outside = Bun.file(`${ROOT}src/${file}`)
    const source = await ((await outside.exists()) ? outside : Bun.file(`${ROOT}src/exchange/${file}`)).text()
    if (!new RegExp(`(?:function|class) ${name}\\b`).test(source)) missing.push(`${name} in ${file}`)
  }
  expect(missing).toEqual([])
})
