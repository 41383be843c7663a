import { Counter, collectDefaultMetrics, Registry } from 'prom-client'
import { tallyCounter, tallyHistogram } from './tally.ts'

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** Everything that exchanges count, under names that Prometheus' rules like. One set per process (or per test). */
export function createMetrics(options: { processMetrics: boolean } = { processMetrics: true }) {
  const registry = new Registry()
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  const registers = [registry]
  return {
    registry,
    exchanges: tallyCounter({
      name: 'tollgate_exchanges_total',
      help: 'Exchanges that ended, by surface, model, end state and status.',
      labelNames: ['surface', 'model', 'end_state', 'status'],
      registers,
    }),
    exchangeSeconds: tallyHistogram({
      name: 'tollgate_exchange_seconds',
      help: 'Seconds from the request to the end of its answer.',
      labelNames: ['surface', 'end_state'],
      buckets: SECONDS,
      registers,
    }),
    firstByteSeconds: tallyHistogram({
      name: 'tollgate_first_byte_seconds',
      help: 'Seconds from the request to the first output of the upstream.',
      labelNames: ['surface', 'channel'],
      buckets: SECONDS,
      registers,
    }),
    attempts: tallyCounter({
      name: 'tollgate_attempts_total',
      help: 'Attempts on upstreams, by channel and outcome.',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
    tokens: tallyCounter({
      name: 'tollgate_tokens_total',
      help: 'Tokens used, by model and bucket of the canonical usage.',
      labelNames: ['model', 'bucket'],
      registers,
    }),
    tokenCounts: new Counter({
      name: 'tollgate_token_counts_total',
      help: 'Calls that asked for the tokens of a prompt, by surface, model, who counted and status.',
      labelNames: ['surface', 'model', 'counted_by', 'status'] as const,
      registers,
    }),
    shed: new Counter({
      name: 'tollgate_shed_total',
      help: 'Requests turned away, and connections at rest cut off, because this process had more to do than it can, by what ran short.',
      labelNames: ['reason'] as const,
      registers,
    }),
    wastedStarts: new Counter({
      name: 'tollgate_wasted_starts_total',
      help: 'Upstream calls begun for which there turned out to be no credit.',
      registers,
    }),
    wastedNano: new Counter({
      name: 'tollgate_wasted_nano_total',
      help: 'What those calls come to at most without output tokens, by the prices of the callers, in billionths of the currency; nobody is charged that.',
      registers,
    }),
    charges: tallyCounter({
      name: 'tollgate_charges_total',
      help: 'Exchanges that were charged, by how their usage is known (reported, estimated) and by what the ledger did.',
      labelNames: ['source', 'outcome'],
      registers,
    }),
    overrunNano: new Counter({
      name: 'tollgate_overrun_nano_total',
      help: 'Cost beyond what was set aside for it, in billionths of the currency; charged all the same.',
      registers,
    }),
    unhandledErrors: new Counter({
      name: 'tollgate_unhandled_errors_total',
      help: 'Rejections and exceptions that nobody caught; each is a bug of ours.',
      registers,
    }),
    droppedLogLines: new Counter({
      name: 'tollgate_log_lines_dropped_total',
      help: 'Lines of the log that were lost because nobody reads it, or its disk is full.',
      registers,
    }),
    unrecordedExchanges: new Counter({
      name: 'tollgate_unrecorded_exchanges_total',
      help: 'Results of exchanges that could not be written to the database.',
      registers,
    }),
  }
}

/** What one process counts. What a scrape reads of its parts beside that: gauges.ts. */
export type Metrics = ReturnType<typeof createMetrics>
