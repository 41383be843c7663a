/** `bun run chaos NAME [...]`: the long trials, each of which prints its figure and exits 0 only if it held. */
const TRIALS: Readonly<Record<string, () => Promise<Trial>>> = {
  ledger: () => import('./ledger.ts'),
}

/** What a trial exports. */
export interface Trial {
  run(args: readonly string[]): Promise<boolean>
}

const [name = '', ...args] = process.argv.slice(2)
const load = TRIALS[name]
if (load === undefined) {
  console.error(`usage: bun run chaos NAME\n\nNAME is one of: ${Object.keys(TRIALS).join(', ')}`)
  process.exit(2)
}
const { run } = await load()
process.exit((await run(args)) ? 0 : 1)
