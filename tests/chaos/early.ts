import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { openPayer } from '#tests/support/gateway/payer.ts'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { eventStream, scriptedUpstream } from '#tests/support/upstreams/upstream.ts'
import type { Ledger } from '@/ledger/ledger.ts'

const BOUND_MS = 0.5
const THINKS_MS = 30
const AVAILABLE = 10n ** 12n
const ANSWER =
  'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\ndata: [DONE]\n\n'

interface Key {
  key: string
  accountId: number
}

/**
 * `bun run chaos early [CALLS [PER_SECOND]]`: what waiting for the durable hold adds to the time to the first byte, with
 * an upstream that takes 30 ms to begin. Of each call, how much later than the upstream's answer its hold came; and
 * beside it, in turn, calls of an account whose holds are granted at once without the database.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const [calls, perSecond] = [Number(args[0] ?? 2_000), Number(args[1] ?? 200)]
  const answeredAt = new Map<string, number>()
  const upstream = scriptedUpstream(async ({ body }) => {
    await Bun.sleep(THINKS_MS)
    answeredAt.set(/call-\d+/.exec(new TextDecoder().decode(body))?.[0] ?? '', performance.now())
    return eventStream(ANSWER)
  })
  const gateway = await startTestGateway({ upstreams: { chat: upstream.url } })
  const real = gateway.server.gateway.ledger
  const [paying, granted] = [await payer(gateway), await payer(gateway)]
  const heldAt = new Map<string, number>()
  gateway.server.gateway.ledger = observed(real, granted.accountId, heldAt)
  const firstBytes = { paying: [] as number[], granted: [] as number[] }
  const waits: number[] = []

  async function measure(index: number): Promise<void> {
    const who = index % 2 === 0 ? 'paying' : 'granted'
    const { tookMs, requestId } = await ask(gateway, who === 'paying' ? paying : granted, `call-${index}`)
    firstBytes[who].push(tookMs)
    const held = heldAt.get(requestId)
    const answered = answeredAt.get(`call-${index}`)
    if (who === 'paying' && held !== undefined && answered !== undefined) {
      waits.push(Math.max(0, held - answered))
    }
  }

  try {
    // The first call of an account waits for its hold: its credit is not known yet.
    for (const who of [paying, granted, paying, granted]) await ask(gateway, who, 'call-0')
    const pending: Promise<void>[] = []
    for (let index = 0; index < calls; index += 1) {
      pending.push(measure(index))
      await Bun.sleep(1000 / perSecond)
    }
    await Promise.all(pending)
  } finally {
    gateway.server.gateway.ledger = real
    await gateway.close()
    await upstream.stop()
    await closeTestServer()
  }
  const pair = (values: readonly number[]) =>
    `${at(values, 0.5).toFixed(2)} / ${at(values, 0.99).toFixed(2)} ms`
  console.log(
    `early: ${calls} calls, ${perSecond} a second: the hold adds ${pair(waits)} (p50 / p99, at most ${BOUND_MS}), ` +
      `${at(waits, 1).toFixed(2)} ms at most, to ${waits.length} calls\n` +
      `  first byte with the ledger ${pair(firstBytes.paying)}, with holds that are granted at once ${pair(firstBytes.granted)}`,
  )
  return at(waits, 0.99) < BOUND_MS
}

/** Notes when holds are durable; those of one account are granted without asking. */
function observed(real: Ledger, grantedAccount: number, heldAt: Map<string, number>): Ledger {
  const free = { chargedNano: 0n, overrunNano: 0n, availableNano: AVAILABLE }
  const isGranted = ({ accountId }: { accountId: number }) => accountId === grantedAccount
  return {
    ...real,
    async hold(request) {
      if (isGranted(request)) {
        return { granted: true, availableNano: AVAILABLE, keyAvailableNano: undefined, resetsAt: undefined }
      }
      const result = await real.hold(request)
      heldAt.set(request.id, performance.now())
      return result
    },
    settle: async item => (isGranted(item) ? { outcome: 'settled', ...free } : real.settle(item)),
    release: async item => (isGranted(item) ? { outcome: 'settled', ...free } : real.release(item)),
  }
}

async function payer({ database }: TestGateway): Promise<Key> {
  return openPayer(database, { creditNano: AVAILABLE })
}

async function ask(
  { url }: TestGateway,
  { key }: Key,
  name: string,
): Promise<{ tookMs: number; requestId: string }> {
  const start = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'chat/echo', stream: true, messages: [{ role: 'user', content: name }] }),
  })
  const tookMs = performance.now() - start
  await response.text()
  return { tookMs, requestId: response.headers.get('x-request-id') ?? '' }
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}
