import { startFleet } from '#tests/support/gateway/fleet.ts'
import { pacedCall, pacedUpstream } from '#tests/support/upstreams/paced-upstream.ts'

const BOUND_MS = 2_500
const AT_ONCE = 25

/**
 * `bun run chaos revocation [TRIALS]`: from the commit of a key's revocation to the last byte of its running stream. In
 * every other round the connections are killed on which gateways would hear of it, just before.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const trials = Number(args[0] ?? 50)
  const upstream = pacedUpstream({ events: 600, paceMs: 25 })
  const fleet = await startFleet({
    gateways: 2,
    upstreamUrl: upstream.url,
    prices: '{ input: 0, output: 2 }',
  })
  const times: { deaf: boolean; ms: number }[] = []
  let odd = 0
  let admitted = 0

  async function deafen(): Promise<void> {
    await fleet.database.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ilike 'listen %'`
  }

  async function trial(index: number, deaf: boolean): Promise<void> {
    const { key, keyId } = await fleet.payer(10n ** 10n)
    const gateway = fleet.gateways[index % fleet.gateways.length]
    const running = pacedCall(gateway?.apiUrl ?? '', key, `r${index}`)
    await Bun.sleep(1_000 + Math.random() * 4_000)
    if (deaf) await deafen()
    await fleet.revokeKey(keyId)
    const committedAt = performance.now()
    const next = await pacedCall(gateway?.apiUrl ?? '', key, `n${index}`)
    if (next.status !== 401) admitted += 1
    const call = await running
    times.push({ deaf, ms: Math.max(0, call.lastByteAt - committedAt) })
    if (call.status !== 200 || !call.text.includes('revoked')) odd += 1
  }

  try {
    for (let from = 0; from < trials; from += AT_ONCE) {
      const size = Math.min(AT_ONCE, trials - from)
      const deaf = (from / AT_ONCE) % 2 === 1
      await Promise.all(Array.from({ length: size }, (_, index) => trial(from + index, deaf)))
    }
    const at = (share: number, some = times) => {
      const sorted = some.map(({ ms }) => ms).toSorted((one, other) => one - other)
      return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
    }
    const deafTimes = times.filter(({ deaf }) => deaf)
    const report = await fleet.audit()
    console.log(
      `revocation: ${trials} running streams end ${at(0.5).toFixed(0)} ms (p50), ${at(0.99).toFixed(0)} ms (p99), ` +
        `${at(1).toFixed(0)} ms (longest) after the commit, ${at(1, deafTimes).toFixed(0)} ms (longest) of the ${deafTimes.length} with listeners killed; ${odd} without the reason in-band, ` +
        `${admitted} new requests admitted after the commit; audit ${report.ok ? 'green' : 'RED'}`,
    )
    for (const { name, count, informational, first } of report.checks) {
      if (count > 0 && !informational) console.log(`  ${name}: ${first.join('; ')}`)
    }
    return at(0.99) <= BOUND_MS && odd === 0 && admitted === 0 && report.ok
  } finally {
    await fleet.close()
    await upstream.stop()
  }
}
