/** A process that writes numbered lines to its log and ends as it is told: `line-process.ts NAME LINES SHARED END`. */
import { createLog } from '@/telemetry/log.ts'

const [name, lines, shared, end] = process.argv.slice(2)
const log = createLog({ level: 'info', format: 'json', isShared: shared === 'shared' })
// Some lines are longer than what a pipe takes in one piece.
const words = 'word '.repeat(900)
for (let line = 0; line < Number(lines); line += 1) {
  log.plain({ name, line, words: line % 1000 === 999 ? words : undefined }, 'line')
  // Some of them leave in the background, and the last are still here at the end.
  if (line % 500 === 499) await Bun.sleep(1)
}
if (end === 'exit') process.exit(3)
if (end === 'throw') throw new Error('uncaught')
if (end === 'linger') await Bun.sleep(400)
