import { expect, test } from 'bun:test'
import { Glob } from 'bun'

/** Where a double never holds an amount, not even on the way to being printed. */
const MONEY = /^(?:pricing\/|ledger\/|generation\/rate)/
const FLOAT_MATHS = /\bNumber\(|parseFloat|\bMath\./

/** The ledger also has ids, list lengths and milliseconds, which are plain numbers: there the line has to name money. */
const NAMES_MONEY = /nano|pico|amount|balance|credit|debit|pending|overdraft|cost|price|rate\b|parseFloat/i

test('no float maths where money is computed', async () => {
  const found: string[] = []
  let read = 0
  for await (const file of new Glob('**/*.ts').scan('src')) {
    if (!MONEY.test(file)) continue
    read += 1
    const lines = (await Bun.file(`src/${file}`).text()).split('\n')
    for (const [index, line] of lines.entries()) {
      if (!FLOAT_MATHS.test(line)) continue
      if (!file.startsWith('ledger/') || NAMES_MONEY.test(line)) found.push(`${file}:${index + 1}: ${line}`)
    }
  }
  expect(read).toBeGreaterThan(4)
  expect(found).toEqual([])
})
