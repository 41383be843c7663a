import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import type { ErrorKind } from '@/errors/gateway-error.ts'
import { exposeOpenExchanges } from '@/telemetry/gauges.ts'
import { createMetrics } from '@/telemetry/metrics.ts'

async function described(options?: { processMetrics: boolean }) {
  const metrics = createMetrics(options)
  exposeOpenExchanges(metrics, () => 0)
  return metrics.registry.getMetricsAsJSON()
}

describe('every metric of ours', () => {
  test('is named by the rules of Prometheus, with its unit, and described', async () => {
    const metrics = await described({ processMetrics: false })
    expect(metrics.length).toBeGreaterThan(5)
    for (const { name, help, type } of metrics) {
      expect(name).toMatch(/^tollgate_[a-z]+(?:_[a-z]+)*$/)
      expect(help).toEndWith('.')
      // Typed as an enum of numbers by the library, and a word at run time.
      const kind = String(type)
      expect(name.endsWith('_total')).toBe(kind === 'counter')
      if (kind === 'histogram') expect(name).toEndWith('_seconds')
    }
  })

  test('keeps its name, which dashboards and alerts know', async () => {
    const names = (await described({ processMetrics: false })).map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        'tollgate_exchanges_total',
        'tollgate_exchange_seconds',
        'tollgate_first_byte_seconds',
        'tollgate_attempts_total',
        'tollgate_tokens_total',
        'tollgate_token_counts_total',
        'tollgate_open_exchanges',
        'tollgate_charges_total',
        'tollgate_overrun_nano_total',
        'tollgate_unhandled_errors_total',
        'tollgate_unrecorded_exchanges_total',
      ]),
    )
  })

  test('stands beside those of the process', async () => {
    const names = (await described()).map(({ name }) => name)
    expect(names).toContain('process_cpu_user_seconds_total')
    expect(names).toContain('process_resident_memory_bytes')
  })
})

const gateway = await fileGateway()

describe('what a gateway counts', () => {
  async function page(): Promise<string> {
    await gateway.server.flush()
    const response = await fetch(`${gateway.opsUrl}/metrics`)
    expect(response.headers.get('content-type')).toStartWith('text/plain')
    return response.text()
  }

  async function ask(model: string): Promise<void> {
    const response = await gateway.post('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'hi' }],
    })
    await response.arrayBuffer()
  }

  test('exchanges, attempts and tokens, and none that is open', async () => {
    await ask('chat/echo')
    await ask('chat/error-500')
    const text = await page()
    for (const line of [
      'tollgate_exchanges_total{surface="chat",model="chat/echo",end_state="complete",status="200"} 1',
      'tollgate_exchanges_total{surface="chat",model="chat/error-500",end_state="upstream_error",status="502"} 1',
      'tollgate_attempts_total{channel="chat",outcome="ok"} 1',
      'tollgate_attempts_total{channel="chat",outcome="upstream_error"} 1',
      'tollgate_tokens_total{model="chat/echo",bucket="outputText"} 1',
      'tollgate_exchange_seconds_count{surface="chat",end_state="complete"} 1',
      'tollgate_first_byte_seconds_count{surface="chat",channel="chat"}',
      'tollgate_open_exchanges 0',
      'tollgate_charges_total{source="reported",outcome="settled"} 1',
      'tollgate_overrun_nano_total 0',
      'tollgate_open_holds 0',
      'tollgate_ledger_healthy 1',
      'tollgate_settlements_waiting 0',
      'tollgate_journal_full 0',
    ]) {
      expect(text).toContain(line)
    }
  })

  test('time in seconds', async () => {
    await ask('chat/slow-1000')
    const text = await page()
    for (const name of ['exchange_seconds', 'first_byte_seconds']) {
      const sums = [...text.matchAll(RegExp(`^tollgate_${name}_sum\\{.*\\} (.*)$`, 'gm'))]
      const total = sums.reduce((sum, [, seconds]) => sum + Number(seconds), 0)
      expect(total).toBeWithin(1, 100)
    }
  })

  test('no name that a caller made up becomes a label', async () => {
    await ask('a-name-that-nobody-has')
    const text = await page()
    expect(text).not.toContain('a-name-that-nobody-has')
    expect(text).toContain(
      'tollgate_exchanges_total{surface="chat",model="",end_state="refused",status="400"} 1',
    )
  })

  test('has every metric, and every label, that the example alerts ask for', async () => {
    await ask('messages/echo')
    const text = await page()
    const rules = await alertRules()
    // The supervisor's own, which tests/commands/serve/supervisor.test.ts reads.
    const names = new Set(rules.match(/tollgate_[a-z_]+/g)).difference(
      new Set(['tollgate_worker_restarts_total']),
    )
    expect(names.size).toBeGreaterThan(8)
    for (const name of names) expect(text).toContain(`# TYPE ${name} `)
    for (const label of rules.matchAll(/by \(([a-z]+)\) \(rate\((tollgate_[a-z_]+)\{([a-z]+)/g)) {
      const [, by, name, filter] = label
      expect(text).toMatch(RegExp(`^${name}\\{.*${by}="`, 'm'))
      expect(text).toMatch(RegExp(`^${name}\\{.*${filter}="ok"`, 'm'))
    }
  })

  test.each([
    ['upstream_auth', true],
    ['upstream_error', true],
    ['upstream_rate_limited', true],
    ['upstream_rejected', false],
    ['upstream_timeout', true],
    ['client_closed', false],
    ['credit_exhausted', false],
    ['unsupported_parameter', false],
  ] satisfies [ErrorKind, boolean][])(
    'the alert of upstream failures looks at %s: %p, as the upstream is to blame for it or not',
    async (kind, isUpstreams) => {
      const [, outcomes = ''] = /outcome=~"([^"]+)"/.exec(await alertRules()) ?? []
      expect(RegExp(`^(?:${outcomes})$`).test(kind)).toBe(isUpstreams)
    },
  )
})

const alertRules = () => Bun.file(join(import.meta.dir, '../../examples/alerts.yaml')).text()
