import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { Log } from './log.ts'

/** One exchange as a trace tells of it. Holds no content, no credential, and no text that an upstream wrote. */
export interface ExchangeSpan {
  requestId: string
  surface: string
  model: string | undefined
  streamed: boolean
  /** Milliseconds since 1970. */
  startedAt: number
  endedAt: number
  /** When the upstream's first output came. */
  firstByteAt: number | undefined
  status: number
  endState: string
  /** The kind of the error it ended in. */
  error: string | undefined
  inputTokens: number | undefined
  outputTokens: number | undefined
  /** The caller's `traceparent` header, if it sent one (W3C Trace Context). */
  traceparent: string | undefined
  attempts: readonly AttemptSpan[]
}

/** One try on one channel. */
export interface AttemptSpan {
  channel: string
  /** Milliseconds since 1970. */
  startedAt: number
  endedAt: number
  /** `ok`, or the kind of the error. */
  outcome: string
}

/** Where finished exchanges go to become spans. */
export interface Spans {
  /** Returns at once: spans leave in batches, behind. */
  add(exchange: ExchangeSpan): void
  /** Resolves when what was added has been sent, or could not be. A collector that is away keeps nobody from stopping. */
  close(): Promise<void>
}

/** A batch that the collector has not taken by then, retries included, is given up. */
const EXPORT_MS = 2_000

/**
 * Exports spans to an OpenTelemetry collector: OTLP over HTTP, `endpoint` without `/v1/traces`. The libraries are
 * loaded here, so that a process without a collector does not have them. One line of the log says that the collector
 * takes none, and one that it does again.
 */
export async function openSpans(endpoint: string, log: Pick<Log, 'info' | 'warn'>): Promise<Spans> {
  const [{ BatchSpanProcessor, TracerProvider }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ])
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'tollgate' }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: telling(
          new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_MS }),
          log,
        ),
      }),
    ],
  })
  const tracer = provider.getTracer('tollgate')
  return {
    add(exchange) {
      const span = tracer.startSpan(
        `${exchange.surface} ${exchange.model ?? ''}`.trim(),
        { kind: SpanKind.SERVER, startTime: exchange.startedAt, attributes: attributesOf(exchange) },
        parentOf(exchange.traceparent),
      )
      if (exchange.firstByteAt !== undefined) span.addEvent('first output', exchange.firstByteAt)
      for (const { channel, startedAt, endedAt, outcome } of exchange.attempts) {
        const attempt = tracer.startSpan(
          `attempt ${channel}`,
          {
            kind: SpanKind.CLIENT,
            startTime: startedAt,
            attributes: { 'tollgate.channel': channel, 'tollgate.outcome': outcome },
          },
          trace.setSpan(ROOT_CONTEXT, span),
        )
        if (outcome !== 'ok') attempt.setStatus({ code: SpanStatusCode.ERROR, message: outcome })
        attempt.end(endedAt)
      }
      // A refusal is the caller's; what the gateway or its upstream failed at is an error of this service.
      if (exchange.status >= 500)
        span.setStatus({ code: SpanStatusCode.ERROR, message: exchange.error ?? '' })
      span.end(exchange.endedAt)
    },
    // What the collector did not take was told.
    close: () => provider.shutdown().catch(() => undefined),
  }
}

/** By itself an exporter fails in silence. */
function telling(exporter: SpanExporter, log: Pick<Log, 'info' | 'warn'>): SpanExporter {
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, result => {
        const { error } = result
        if (error !== undefined && !isFailing) log.warn({ err: error }, 'spans could not be sent')
        if (error === undefined && isFailing) log.info('spans are sent again')
        isFailing = error !== undefined
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}

/** Names of the semantic conventions where there is one: https://opentelemetry.io/docs/specs/semconv/gen-ai/ */
function attributesOf(exchange: ExchangeSpan) {
  return {
    'tollgate.request_id': exchange.requestId,
    'tollgate.surface': exchange.surface,
    'tollgate.streamed': exchange.streamed,
    'tollgate.end_state': exchange.endState,
    'http.response.status_code': exchange.status,
    ...(exchange.model === undefined ? {} : { 'gen_ai.request.model': exchange.model }),
    ...(exchange.error === undefined ? {} : { 'error.type': exchange.error }),
    ...(exchange.inputTokens === undefined ? {} : { 'gen_ai.usage.input_tokens': exchange.inputTokens }),
    ...(exchange.outputTokens === undefined ? {} : { 'gen_ai.usage.output_tokens': exchange.outputTokens }),
  }
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** The caller's own trace, which the exchange is then a part of. */
function parentOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  })
}
