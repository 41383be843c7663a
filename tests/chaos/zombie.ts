import { startFleet } from '#tests/support/gateway/fleet.ts'
import { pacedCall, pacedUpstream } from '#tests/support/upstreams/paced-upstream.ts'
import { until } from '#tests/support/upstreams/upstream.ts'

const TOKEN_NANO = 2_000

/**
 * `bun run chaos zombie [STREAMS]`: a gateway is stopped (SIGSTOP) for longer than others wait for its heartbeat, and
 * goes on (SIGCONT) when they have charged its streams at their last checkpoint.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const streams = Number(args[0] ?? 100)
  const upstream = pacedUpstream({ events: 120, paceMs: 50 })
  const fleet = await startFleet({
    gateways: 2,
    upstreamUrl: upstream.url,
    prices: '{ input: 0, output: 2 }',
  })
  const [zombie] = fleet.gateways
  if (zombie === undefined) throw new Error('no gateway')
  const charged = async () => {
    const [row] = await fleet.database.sql<{ nano: bigint; entries: bigint }[]>`
      select coalesce(-sum(amount), 0)::bigint as nano, count(*) as entries from entry where kind in ('usage', 'usage_trueup')`
    return { nano: Number(row?.nano ?? 0n), entries: Number(row?.entries ?? 0n) }
  }
  try {
    const payer = await fleet.payer(10n ** 12n)
    const calls = Array.from({ length: streams }, (_, index) =>
      pacedCall(zombie.apiUrl, payer.key, `z${index}`),
    )
    await until(() => upstream.sent.size === streams, 10_000)
    await Bun.sleep(3_000)
    zombie.kill('SIGSTOP')
    const stoppedAt = performance.now()
    await until(async () => (await fleet.holds()) === 0, 20_000)
    const reapedAfterMs = performance.now() - stoppedAt
    const atReap = await charged()
    zombie.kill('SIGCONT')
    const ended = await Promise.all(calls)
    await until(async () => (await charged()).entries >= 2 * streams, 10_000).catch(() => undefined)
    const { nano } = await charged()
    const cost = [...upstream.sent.values()].reduce((sum, tokens) => sum + tokens, 0) * TOKEN_NANO
    const doubles = tooMuch(await fleet.charged(), ended, upstream.sent)
    const report = await fleet.audit()
    const recovered = (nano - atReap.nano) / (cost - atReap.nano)
    console.log(
      `zombie: ${streams} streams, ${ended.filter(({ complete }) => complete).length} complete after the gateway stood still; ` +
        `taken over after ${(reapedAfterMs / 1000).toFixed(1)} s at ${((100 * atReap.nano) / cost).toFixed(1)} % of what the upstream sent\n` +
        `  true-ups recover ${(100 * recovered).toFixed(2)} % of the difference; ${doubles} double charges, ` +
        `${await fleet.holds()} holds left, audit ${report.ok ? 'green' : 'RED'}`,
    )
    return doubles === 0 && recovered >= 0.99 && report.ok && (await fleet.holds()) === 0
  } finally {
    zombie.kill('SIGCONT')
    await fleet.close()
    await upstream.stop()
  }
}

/** Requests that were charged more than the upstream sent for them. */
function tooMuch(
  charged: ReadonlyMap<string, bigint>,
  calls: readonly { name: string; requestId: string | undefined }[],
  sent: ReadonlyMap<string, number>,
): number {
  return calls.filter(
    ({ name, requestId }) => Number(charged.get(requestId ?? '') ?? 0n) > (sent.get(name) ?? 0) * TOKEN_NANO,
  ).length
}
