import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Caller } from '@/accounts/account.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type SettlementDependencies, settle } from '@/exchange/billing/settlement.ts'
import { type ExchangeRecord, openRecord } from '@/exchange/record.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { createLog } from '@/telemetry/log.ts'
import { createMetrics, type Metrics } from '@/telemetry/metrics.ts'
import { scrub } from '@/telemetry/scrub.ts'
import type { ExchangeSpan } from '@/telemetry/spans.ts'

const KEY = 'sk-0Ab9cD8e7F6a5B4c3D2e1F0a9B8c7D6e5F4a3B2c1D0e9F8a7B6c5D4e3'

function record(parts: Partial<ExchangeRecord> = {}): ExchangeRecord {
  const open = openRecord('01a1fa0b-596b-723f-a306-ec1ac18fcd63', 'chat', {
    now: () => 1_000_000,
    elapsed: () => 1_000,
  })
  return { ...open, model: 'vendor/model', channel: 'main', usage: { ...NO_USAGE, outputText: 3 }, ...parts }
}

/** The one line that an exchange ends in. */
function lineOf(ended: ExchangeRecord): string {
  const lines = end(ended, createMetrics({ processMetrics: false }))
  expect(lines).toHaveLength(1)
  return lines[0] ?? ''
}

/** Ends an exchange, and returns what was logged. */
function end(ended: ExchangeRecord, metrics: Metrics): string[] {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json' }, { write: line => lines.push(line) })
  settle(ended, dependencies({ log, metrics }))
  return lines
}

function dependencies(parts: Partial<SettlementDependencies>): SettlementDependencies {
  return {
    clock: { now: () => 1_250, elapsed: () => 1_250, every: () => () => {}, after: () => () => {} },
    log: createLog({ level: 'silent', format: 'json' }, { write: () => undefined }),
    metrics: createMetrics({ processMetrics: false }),
    spans: undefined,
    store: { take: () => () => {} },
    settling: new Set(),
    ...parts,
  }
}

test('how long an exchange took is the time that passed, whatever the clock was set to meanwhile', () => {
  expect(JSON.parse(lineOf(record()))).toMatchObject({ total_ms: 250 })
})

describe('the line of an exchange carries no credential', () => {
  test.each<[string, Partial<ExchangeRecord>]>([
    ['in the name of its model', { model: `a ${KEY}` }],
    ['in the name of its channel', { channel: `https://x:${KEY}@y/?key=${KEY}` }],
    ['in the names of what was lost', { losses: [`tools.${KEY}`] }],
    ['in the names of tools that the vendor ran', { usage: { ...NO_USAGE, serverTools: { [KEY]: 1 } } }],
    ['in the sizes of images', { extras: { images: { [KEY]: 1 } } }],
    ['in its error', { error: new GatewayError('upstream_error', KEY, { detail: `Bearer ${KEY}` }) }],
    [
      'in what went wrong here',
      { error: new GatewayError('internal_error', 'x', { cause: new Error(KEY) }) },
    ],
  ])('%s', (_where, parts) => {
    const line = lineOf(record(parts))
    expect(line).not.toContain(KEY.slice(3))
    expect(line).toContain('[redacted]')
    expect(() => JSON.parse(line)).not.toThrow()
  })

  test('whatever names look like: nothing is left in it that a scrub of the whole line would take', () => {
    const piece = fc.constantFrom(
      'sk-',
      'Bearer ',
      'cookie=',
      '?key=',
      '://a:',
      '@',
      '\\',
      '"',
      '\n',
      'a1b2c3d4',
      KEY,
    )
    const name = fc.array(piece, { maxLength: 6 }).map(pieces => pieces.join(' '))
    fc.assert(
      fc.property(name, name, (model, channel) => {
        const line = lineOf(record({ model, channel }))
        expect(scrub(line)).toBe(line)
        expect(line).not.toContain(KEY.slice(3))
      }),
      { numRuns: 300 },
    )
  })
})

describe('the line of an exchange is a warning where the upstream or the gateway failed', () => {
  const [info, warning, bug] = [30, 40, 50]
  const failure = new GatewayError('upstream_error', 'x')
  test.each<[string, Partial<ExchangeRecord>, number]>([
    ['complete', {}, info],
    ['refused for what the caller said', { status: 400, endState: 'refused', error: failure }, info],
    ['refused by a limit', { status: 429, endState: 'refused', error: failure }, info],
    ['the caller left', { status: 200, endState: 'client_gone', error: failure }, info],
    [
      "the upstream's complaint of the request",
      { status: 400, endState: 'upstream_error', error: failure },
      info,
    ],
    ['no channel could answer', { status: 502, endState: 'upstream_error', error: failure }, warning],
    ['billing is unavailable', { status: 503, endState: 'refused', error: failure }, warning],
    ['cut after output', { status: 200, endState: 'upstream_cut', error: failure }, warning],
    ['silent after output', { status: 200, endState: 'stalled', error: failure }, warning],
    ['a bug', { status: 500, error: new GatewayError('internal_error', 'x') }, bug],
  ])('%s', (_what, parts, level) => {
    expect(JSON.parse(lineOf(record(parts)))).toMatchObject({ level })
  })
})

test('of a bug says what was thrown beside all that it says of any exchange', () => {
  const charge = { nano: 2_500n, pico: 0n, priceVersion: 1n, serviceTier: 'priority' } as const
  const error = new GatewayError('internal_error', 'x', { cause: new Error('a bug') })
  const { level, time, err, ...line } = JSON.parse(lineOf(record({ status: 500, error, charge })))
  expect(err.message).toBe('a bug')
  const { level: _, time: __, ...usual } = JSON.parse(lineOf(record({ status: 500, charge })))
  expect(line).toEqual({ ...usual, error: { kind: 'internal_error', message: 'x' } })
  expect(line).toMatchObject({ cost: '0.000002500', service_tier: 'priority' })
})

test('says the same whether or not there is something in it that has to be scrubbed', () => {
  const plain = JSON.parse(lineOf(record()))
  const scrubbed = JSON.parse(lineOf(record({ losses: ['top_k'] })))
  expect(plain).not.toHaveProperty('losses')
  expect({ ...plain, losses: ['top_k'], time: '' }).toEqual({ ...scrubbed, time: '' })
})

test('counts the tokens of each bucket that has any', async () => {
  const metrics = createMetrics({ processMetrics: false })
  const { serverTools: _tools, ...buckets } = NO_USAGE
  const used = Object.fromEntries(Object.keys(buckets).map((bucket, index) => [bucket, index]))
  end(record({ usage: { ...NO_USAGE, ...used } }), metrics)
  const read = await metrics.registry.getSingleMetricAsString('tollgate_tokens_total')
  const lines = Object.entries(used).flatMap(([bucket, tokens]) =>
    tokens > 0 ? [`tollgate_tokens_total{model="vendor/model",bucket="${bucket}"} ${tokens}`] : [],
  )
  expect(read.split('\n').slice(2)).toEqual(lines)
})

describe('the result of an exchange is stored', () => {
  const caller = { accountId: 7, keyId: 8 } as Caller
  const charge = { nano: 3n, pico: 2_500n, priceVersion: 1n, serviceTier: undefined }

  /** What was noted and stored by now, and what waits. */
  function ending(parts: Partial<ExchangeRecord>, charged?: Promise<void>) {
    const state = { noted: 0, stored: 0, settling: new Set<Promise<void>>() }
    const take = () => {
      state.noted += 1
      return () => {
        state.stored += 1
      }
    }
    settle(record(parts), dependencies({ store: { take }, settling: state.settling }), charged)
    return state
  }

  test.each<[string, Partial<ExchangeRecord>, Promise<void> | undefined]>([
    ['of one that nothing is charged for', { caller }, undefined],
    ['of one whose hold is given back', { caller }, new Promise(() => {})],
    ['of one whose charge nobody waits for', { caller, charge }, undefined],
  ])('at once, %s', (_, parts, charged) => {
    expect(ending(parts, charged)).toEqual({ noted: 1, stored: 1, settling: new Set() })
  })

  test('after its charge has its answer, and until then it is noted and waited for', async () => {
    const charged = Promise.withResolvers<void>()
    const state = ending({ caller, charge }, charged.promise)
    const waiting = [...state.settling]
    expect(state).toMatchObject({ noted: 1, stored: 0 })
    expect(waiting).toHaveLength(1)
    charged.resolve()
    await Promise.all(waiting)
    expect(state).toEqual({ noted: 1, stored: 1, settling: new Set() })
  })

  test('unless nobody is known to have made it', () => {
    expect(ending({ caller: undefined })).toEqual({ noted: 0, stored: 0, settling: new Set() })
  })
})

test('whoever collects spans is told when an exchange began, answered and ended, and its tokens', () => {
  const told: ExchangeSpan[] = []
  const spans = { add: (span: ExchangeSpan) => void told.push(span), close: async () => {} }
  settle(record({ firstByteMs: 40 }), dependencies({ spans }))
  settle(record({ usage: undefined }), dependencies({ spans }))
  expect(told).toMatchObject([
    { startedAt: 1_000_000, firstByteAt: 1_000_040, endedAt: 1_000_250, inputTokens: 0, outputTokens: 3 },
    { firstByteAt: undefined, inputTokens: undefined, outputTokens: undefined },
  ])
})

test('counts an exchange, how long it took and how long its first byte did, in seconds', async () => {
  const metrics = createMetrics({ processMetrics: false })
  end(record({ status: 200, endState: 'complete', firstByteMs: 40 }), metrics)
  end(
    record({ status: 200, endState: 'complete', firstByteMs: 60, channel: undefined, usage: undefined }),
    metrics,
  )
  end(record({ status: 503, endState: 'refused', usage: undefined }), metrics)
  const text = await metrics.registry.metrics()
  for (const line of [
    'tollgate_exchanges_total{surface="chat",model="vendor/model",end_state="complete",status="200"} 2',
    'tollgate_exchanges_total{surface="chat",model="vendor/model",end_state="refused",status="503"} 1',
    'tollgate_exchange_seconds_sum{surface="chat",end_state="complete"} 0.5',
    'tollgate_first_byte_seconds_sum{surface="chat",channel="main"} 0.04',
    'tollgate_first_byte_seconds_sum{surface="chat",channel=""} 0.06',
  ]) {
    expect(text.split('\n')).toContain(line)
  }
})
