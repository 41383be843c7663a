import { readdirSync } from 'node:fs'

/** `bun run chaos NAME [...]` runs the program of that name in tests/chaos/: a long trial, which prints its figure and exits 0 only if it held. */
interface Trial {
  /** True when everything held. */
  run(args: readonly string[]): Promise<boolean>
}

const [name = '', ...args] = process.argv.slice(2)
const names = readdirSync(import.meta.dir)
  .map(file => /^([a-z-]+)\.ts$/.exec(file)?.[1] ?? '')
  .filter(found => found !== '' && found !== 'chaos')
if (!names.includes(name)) {
  console.error(`usage: bun run chaos NAME\n\nNAME is one of: ${names.sort().join(', ')}`)
  process.exit(2)
}
const trial: Trial = await import(`./${name}.ts`)
process.exit((await trial.run(args)) ? 0 : 1)
