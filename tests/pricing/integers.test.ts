import { expect, test } from 'bun:test'
import { Glob } from 'bun'

/** Where money is computed: a double never holds an amount, not even on the way to being printed. */
const MONEY = /^(?:pricing\/|ledger\/|generation\/rate)/

test('no float maths where money is computed', async () => {
  const found: string[] = []
  let read = 0
  for await (const file of new Glob('**/*.ts').scan('src')) {
    if (!MONEY.test(file)) continue
    read += 1
    const source = await Bun.file(`src/${file}`).text()
    for (const [match] of source.matchAll(/\bNumber\(|parseFloat|\bMath\./g)) found.push(`${file}: ${match}`)
  }
  expect(read).toBeGreaterThan(4)
  expect(found).toEqual([])
})
