import type { JsonValue } from '@/json/json.ts'
import type { CommandIo } from './command.ts'

/** Prints a result: with `--json` the one JSON value, else the text for people. */
export function print(io: CommandIo, json: boolean, value: JsonValue, text: () => string): void {
  io.out(json ? JSON.stringify(value) : text())
}

/** Rows under their headings, in columns as wide as their longest cell; numbers and money to the right. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = headings.map((heading, index) => {
    const cells = rows.map(row => row[index] ?? '')
    return {
      width: Math.max(heading.length, ...cells.map(cell => cell.length)),
      toRight: cells.length > 0 && cells.every(cell => /^(-?[\d.]+|-)$/.test(cell)),
    }
  })
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ width, toRight }, index) => {
        const cell = cells[index] ?? ''
        return toRight ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [headings, ...rows].map(line).join('\n')
}

/** Names and values below one another. */
export function list(entries: readonly (readonly [string, string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n')
}
