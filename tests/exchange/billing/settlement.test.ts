import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '@/errors/gateway-error.ts'
import { settle } from '@/exchange/billing/settlement.ts'
import { type ExchangeRecord, openRecord } from '@/exchange/record.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { createLog } from '@/telemetry/log.ts'
import { createMetrics, type Metrics } from '@/telemetry/metrics.ts'
import { scrub } from '@/telemetry/scrub.ts'

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
  settle(ended, {
    clock: { now: () => 1_250, elapsed: () => 1_250, every: () => () => {}, after: () => () => {} },
    log: createLog({ level: 'info', format: 'json' }, { write: line => lines.push(line) }),
    metrics,
    spans: undefined,
    store: { take: () => () => {} },
    settling: new Set(),
  })
  return lines
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

test('says the same whether or not there is something in it that has to be scrubbed', () => {
  const plain = JSON.parse(lineOf(record()))
  const scrubbed = JSON.parse(lineOf(record({ losses: ['top_k'] })))
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
