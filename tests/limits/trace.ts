/** One step of a random trace. */
export type Step = { afterUs: number; id: string } & (
  | {
      kind: 'take'
      requestsPerMinute: number
      tokensPerMinute: number
      tokens: number
      concurrent: number
    }
  | { kind: 'adjust'; deltaUs: number }
  | { kind: 'renew' }
  | { kind: 'release' }
)

/** A trace that is the same for the same seed: few ids, so that they meet again; limits that change on the way. */
export function randomSteps(seed: number, length: number): Step[] {
  const random = seeded(seed)
  const whole = (below: number) => Math.floor(random() * below)
  const requestLimits = [1 + whole(20), 1 + whole(2_000)]
  const tokenLimits = [100 + whole(5_000), 1 + whole(10_000_000)]
  return Array.from({ length }, () => {
    const common = { afterUs: random() < 0.4 ? 0 : whole(10 ** (1 + whole(8))), id: `r${whole(12)}` }
    const kind = whole(10)
    if (kind < 6) {
      return {
        ...common,
        kind: 'take',
        requestsPerMinute: pick(requestLimits, random()),
        tokensPerMinute: pick(tokenLimits, random()),
        tokens: whole(2_000),
        concurrent: 1 + whole(6),
      }
    }
    if (kind < 8) return { ...common, kind: 'adjust', deltaUs: whole(40_000_000) - 20_000_000 }
    return { ...common, kind: kind === 8 ? 'renew' : 'release' }
  })
}

/** mulberry32: small, and the same everywhere. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function pick(values: readonly number[], random: number): number {
  return values[Math.floor(random * values.length)] ?? 1
}
