import { parseArgs } from 'node:util'
import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import { chatRequest, swarm } from '#tests/support/swarm.ts'
import { scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'

const TOKENS = 50
/** 2 per million tokens of output, and nothing for the prompt: what a request may cost is what it costs. */
const PRICES = '{ input: 0, output: 2 }'
const COST_NANO = BigInt(TOKENS) * 2000n

interface ExactlyOptions {
  gateways: number
  requests: number
  /** The credit pays for exactly so many of them. */
  paid: number
  runs: number
}

interface ExactlyRun {
  served: number
  /** By code of the 402. */
  refused: Record<string, number>
  /** Answers that are neither. */
  odd: string[]
  balanceNano: bigint
  pendingNano: bigint
  upstreamCalls: number
  seconds: number
}

/** `bun run chaos exactly [--runs 5] [--requests 10000] [--paid 100] [--gateways 4]` */
export async function run(args: readonly string[]): Promise<boolean> {
  const text = (preset: string) => ({ type: 'string', default: preset }) as const
  const options = { runs: text('5'), requests: text('10000'), paid: text('100'), gateways: text('4') }
  const { values } = parseArgs({ args: [...args], options })
  const [requests, paid] = [Number(values.requests), Number(values.paid)]
  const results = await runExactly(
    { requests, paid, gateways: Number(values.gateways), runs: Number(values.runs) },
    result => console.log(describe(result)),
  )
  const held = results.filter(result => holds(result, { requests, paid })).length
  console.log(
    `exactly: ${held} of ${results.length} runs served exactly ${paid} of ${requests} concurrent requests, ` +
      `refused the others with 402 and left a balance of 0`,
  )
  return held === results.length
}

export function holds(result: ExactlyRun, { requests, paid }: { requests: number; paid: number }): boolean {
  const refused = Object.values(result.refused).reduce((sum, count) => sum + count, 0)
  return (
    result.served === paid &&
    refused === requests - paid &&
    result.balanceNano === 0n &&
    result.pendingNano === 0n
  )
}

export async function runExactly(
  options: ExactlyOptions,
  tell: (result: ExactlyRun) => void = () => undefined,
): Promise<ExactlyRun[]> {
  const answer = JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(200) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: TOKENS, total_tokens: 10 + TOKENS },
  })
  const upstream = scriptedUpstream(() => new Response(answer))
  const fleet = await startFleet({ gateways: options.gateways, upstreamUrl: upstream.url, prices: PRICES })
  const results: ExactlyRun[] = []
  try {
    for (let index = 0; index < options.runs; index += 1) {
      const before = upstream.seen.length
      const result = await once(fleet, options)
      results.push({ ...result, upstreamCalls: upstream.seen.length - before })
      tell(results.at(-1) ?? { ...result, upstreamCalls: 0 })
    }
    const report = await fleet.audit()
    if (!report.ok)
      throw new Error(`the audit found ${JSON.stringify(report.checks.filter(c => c.count > 0))}`)
  } finally {
    await fleet.close()
    await upstream.stop()
  }
  return results
}

async function once(fleet: Fleet, options: ExactlyOptions): Promise<Omit<ExactlyRun, 'upstreamCalls'>> {
  const payer = await fleet.payer(COST_NANO * BigInt(options.paid))
  const urls = fleet.gateways.map(({ apiUrl }) => apiUrl)
  const body = JSON.stringify({ model: 'm', max_tokens: TOKENS, messages: [{ role: 'user', content: 'hi' }] })
  const start = performance.now()
  const answers = await swarm(urls, options.requests, chatRequest(payer.key, body))
  const seconds = (performance.now() - start) / 1000
  const wallet = async () => {
    const [row] = await fleet.database.sql<{ balance: bigint; pending: bigint }[]>`
      select credits - debits as balance, pending from wallet where account_id = ${payer.accountId}`
    return { balanceNano: row?.balance ?? -1n, pendingNano: row?.pending ?? -1n }
  }
  await until(async () => (await wallet()).pendingNano === 0n)
  const refused: Record<string, number> = {}
  const odd: string[] = []
  for (const { status, text } of answers) {
    const code = /"code":"(credit_\w+)"/.exec(text)?.[1]
    if (status === 402 && code !== undefined) refused[code] = (refused[code] ?? 0) + 1
    else if (status !== 200) odd.push(text.slice(-300))
  }
  const served = answers.filter(({ status }) => status === 200).length
  return { served, refused, odd, seconds, ...(await wallet()) }
}

function describe({ served, refused, odd, balanceNano, upstreamCalls, seconds }: ExactlyRun): string {
  const codes = Object.entries(refused).map(([code, count]) => `${count} ${code}`)
  const others = odd.length === 0 ? '' : `; ${odd.length} others, the first: ${odd[0]}`
  return `${served} served, ${codes.join(', ')}, balance ${balanceNano}, ${upstreamCalls} upstream calls, ${seconds.toFixed(1)} s${others}`
}
