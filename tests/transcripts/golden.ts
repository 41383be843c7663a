import { expect } from 'bun:test'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const UPDATES = process.env['UPDATE_GOLDENS'] === '1'

/** Holds a text to the golden at this path; with `UPDATE_GOLDENS=1` the text becomes the golden, to be reviewed. */
export function expectGolden(path: string, text: string): void {
  if (UPDATES) writeFileSync(path, text)
  if (!existsSync(path)) throw new Error(`${path} is missing: UPDATE_GOLDENS=1 bun test tests/transcripts`)
  expect(text).toBe(readFileSync(path, 'utf8'))
}

/** Holds that there is no golden at this path. */
export function expectNoGolden(path: string): void {
  if (UPDATES) rmSync(path, { force: true })
  expect(existsSync(path)).toBe(false)
}

export function pretty(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
