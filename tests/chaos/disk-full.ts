import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cutOff } from '#tests/ledger/fixture.ts'
import { startFleet } from '#tests/support/gateway/fleet.ts'
import { type PacedCall, pacedCall, pacedUpstream } from '#tests/support/upstreams/paced-upstream.ts'
import { until } from '#tests/support/upstreams/upstream.ts'

const TOKEN_NANO = 2_000
const DISK = '256k'

/**
 * `bun run chaos disk-full [STREAMS]`: the journal's disk is full while the ledger's database is away. Needs to be root,
 * to mount a small file system.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const streams = Number(args[0] ?? 60)
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-full-'))
  const disk = mountDisk(join(dataDir, 'data', 'journal'))
  const upstream = pacedUpstream({ events: 80, paceMs: 50 })
  const fleet = await startFleet({
    gateways: 1,
    upstreamUrl: upstream.url,
    prices: '{ input: 0, output: 2 }',
    dataDir,
  })
  const [gateway] = fleet.gateways
  if (gateway === undefined) throw new Error('no gateway')
  const unready = async (): Promise<string | undefined> => {
    const response = await fetch(`${gateway.opsUrl}/readyz`)
    return response.ok ? undefined : await response.text()
  }
  try {
    const payer = await fleet.payer(10n ** 12n)
    const call = (name: string) => pacedCall(gateway.apiUrl, payer.key, name)
    // Two waves: the first ends while there is room, and is journaled; the second when there is none.
    const first = Array.from({ length: streams }, (_, index) => call(`a${index}`))
    await Bun.sleep(2_000)
    const second = Array.from({ length: streams }, (_, index) => call(`b${index}`))
    await until(() => upstream.sent.size === 2 * streams, 10_000)
    const restore = await cutOff(fleet.database)
    await Promise.all(first)
    await until(async () => (await metric(gateway.opsUrl, 'tollgate_journal_in_use')) === 1, 10_000)
    const before = await unready()
    disk.fill()
    const unreadyMs = await until(async () => (await unready())?.includes('journal') === true, 10_000)
    const refused = await call('refused')
    const calls = await Promise.all([...first, ...second])
    const waiting = await metric(gateway.opsUrl, 'tollgate_settlements_waiting')
    const stillUnready = (await unready()) !== undefined
    disk.empty()
    await restore()
    const readyMs = await until(async () => (await unready()) === undefined, 15_000)
    await until(async () => (await fleet.holds()) === 0, 15_000).catch(() => undefined)
    const lost = uncharged(await fleet.charged(), calls, upstream.sent)
    const report = await fleet.audit()
    console.log(
      `disk-full: ${before === undefined ? 'ready' : before} without the database but with room; unready ${(unreadyMs / 1000).toFixed(1)} s after the disk was full, a new request gets ${refused.status}; ` +
        `${waiting} charges waited in memory, ${streams} on disk\n` +
        `  with room and database back: ready after ${(readyMs / 1000).toFixed(1)} s, ${lost} of ${calls.length} charges lost, ` +
        `${await fleet.holds()} holds left, audit ${report.ok ? 'green' : 'RED'}`,
    )
    return unreadyMs < 3_000 && stillUnready && refused.status === 503 && lost === 0 && report.ok
  } finally {
    disk.unmount()
    await fleet.close()
    await upstream.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function mountDisk(directory: string) {
  mkdirSync(directory, { recursive: true })
  const mounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', directory])
  if (!mounted.success) throw new Error(`a small disk cannot be mounted: ${mounted.stderr}`)
  const filler = join(directory, 'filler')
  return {
    fill() {
      try {
        for (;;) writeFileSync(filler, new Uint8Array(4096), { flag: 'a' })
      } catch {
        // Full.
      }
    },
    empty: () => rmSync(filler, { force: true }),
    // The gateway has files open on it until it ends.
    unmount: () => Bun.spawnSync(['umount', '-l', directory]),
  }
}

/** Whole answers that were not charged what the upstream sent. */
function uncharged(
  charged: ReadonlyMap<string, bigint>,
  calls: readonly PacedCall[],
  sent: ReadonlyMap<string, number>,
): number {
  return calls.filter(
    ({ name, requestId }) => Number(charged.get(requestId ?? '')) !== (sent.get(name) ?? 0) * TOKEN_NANO,
  ).length
}

async function metric(opsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}
