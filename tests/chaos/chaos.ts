/** `bun run chaos NAME [ARGUMENTS]` runs tests/chaos/NAME.ts and ends as it says. */
export interface Chaos {
  /** True when everything held. */
  run(args: readonly string[]): Promise<boolean>
}

const [name = '', ...args] = process.argv.slice(2)
const file = Bun.file(new URL(`./${name}.ts`, import.meta.url))
if (!/^[a-z][a-z-]*$/.test(name) || name === 'chaos' || !(await file.exists())) {
  console.error('Usage: bun run chaos NAME, where tests/chaos/NAME.ts exists')
  process.exit(2)
}
const chaos: Chaos = await import(`./${name}.ts`)
process.exit((await chaos.run(args)) ? 0 : 1)
