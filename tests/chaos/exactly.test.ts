import { expect, test } from 'bun:test'
import { holds, runExactly } from './exactly.ts'

// The whole of it is `bun run chaos exactly`.
test('credit for 20 serves 20 of 400 concurrent requests of two processes', async () => {
  const options = { gateways: 2, requests: 400, paid: 20, runs: 1 }
  const [result] = await runExactly(options)
  expect(result).toMatchObject({ served: 20, balanceNano: 0n, odd: [] })
  expect(result && holds(result, options)).toBe(true)
}, 120_000)
