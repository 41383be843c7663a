import { fuzzOnce } from '#tests/support/streams/fuzz.ts'

/** `bun run chaos fuzz [STREAMS] [FIRST_SEED]`: mutated upstream streams through every decoder and every caller's encoder. */
export async function run(args: readonly string[]): Promise<boolean> {
  const streams = Number(args[0] ?? 100_000)
  const first = Number(args[1] ?? 0)
  const start = performance.now()
  let faults = 0
  for (let seed = first; seed < first + streams; seed += 1) {
    const finding = fuzzOnce(seed)
    if (finding === undefined) continue
    faults += 1
    if (faults <= 20) console.error(JSON.stringify(finding))
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${streams} mutated streams in ${seconds} s, ${faults} ended unlawfully, threw or hung`)
  return faults === 0
}
