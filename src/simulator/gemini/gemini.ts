import type { JsonObject, JsonValue } from '@/json/json.ts'
import type { Dialect, DialectRequest, Exchange } from '@/simulator/exchange.ts'
import type { Failure } from '@/simulator/failure.ts'
import { fold } from '@/simulator/fold.ts'
import { isGemini3 } from '@/simulator/model-family.ts'
import type { OfferedTool } from '@/simulator/prompt.ts'
import { inTurns } from '@/simulator/script/in-turns.ts'
import { alternatives, logProbability } from '@/simulator/script/log-probability.ts'
import { type FinishReason, IMAGE_BASE64, type Step } from '@/simulator/script/script.ts'
import { signReasoning } from '@/simulator/script/signature.ts'
import { readGemini } from './validate.ts'

/** Google Gemini generateContent. */
export const gemini: Dialect = {
  cachePolicy: 'implicit',
  read: readGemini,
  stream: streamGemini,
  whole: wholeGemini,
  countBody: tokens => ({
    totalTokens: tokens,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
  }),
  errorBody: geminiErrorBody,
  streamType: request => (isEventStream(request) ? 'text/event-stream' : 'application/json; charset=UTF-8'),
}

const FINISH = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  calls: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'STOP',
  filter: 'SAFETY',
} satisfies Record<FinishReason, string>

/** Events with CRLF line ends, or the elements of one JSON array. */
function* streamGemini(exchange: Exchange, request: DialectRequest): Generator<string> {
  if (isEventStream(request)) {
    for (const chunk of chunks(exchange)) yield `data: ${JSON.stringify(chunk)}\r\n\r\n`
    return
  }
  let before = '['
  for (const chunk of chunks(exchange)) {
    yield `${before}${JSON.stringify(chunk, null, 2)}\r\n`
    before = ','
  }
  yield ']'
}

function isEventStream(request: DialectRequest): boolean {
  return request.query.get('alt') === 'sse'
}

function* chunks(exchange: Exchange): Generator<JsonObject> {
  const candidates = Array.from({ length: exchange.prompt.choices }, (_, index) =>
    createCandidate(exchange, index),
  )
  for (const { index, step } of inTurns(candidates.map(() => exchange.play()))) {
    if (step.type === 'error') return yield geminiErrorBody(step.failure)
    const candidate = candidates[index]?.(step)
    if (candidate !== undefined) yield responseObject(exchange, [candidate])
  }
}

/** Turns the steps of one candidate into its increments; calls are kept until they are whole, and leave together. */
function createCandidate(exchange: Exchange, index: number): (step: Step) => JsonObject | undefined {
  const signer = createSigner(exchange)
  const inputs = new Map<number, string>()
  const calls: JsonValue[] = []
  const increment = (parts: JsonValue[], more: JsonObject = {}): JsonObject => ({
    content: { parts, role: 'model' },
    ...more,
    index,
  })
  return step => {
    switch (step.type) {
      case 'reasoning':
        signer.reason(step.text)
        return exchange.prompt.reasoning === 'shown'
          ? increment([{ text: step.text, thought: true }])
          : undefined
      case 'text':
        return increment([{ text: step.text }], logprobsOf([step.text], exchange))
      case 'refusal':
        return increment([{ text: step.text }])
      case 'image':
        return increment([image()])
      case 'call-input':
        inputs.set(step.call, (inputs.get(step.call) ?? '') + step.text)
        return undefined
      case 'call-end':
        calls.push({
          functionCall: callOf(exchange, step.tool, `${index}${step.call}`, inputs.get(step.call) ?? ''),
          ...signer.sign(calls.length === 0),
        })
        return undefined
      case 'finish': {
        const finish = { finishReason: FINISH[step.reason] }
        const signature = calls.length === 0 ? signer.signText() : {}
        const parts =
          calls.length > 0 ? calls : Object.keys(signature).length > 0 ? [{ text: '', ...signature }] : []
        return parts.length > 0 ? increment(parts, finish) : { ...finish, index }
      }
      default:
        return undefined
    }
  }
}

/** Signatures sit on the first call of a step, else on the last text part; Gemini 3 signs calls even without visible thoughts. */
function createSigner(exchange: Exchange) {
  let thoughts = ''
  const signature = (): JsonObject => ({
    thoughtSignature: signReasoning('gemini-generate-content', thoughts),
  })
  return {
    reason: (text: string) => {
      thoughts += text
    },
    sign: (first: boolean): JsonObject =>
      first && (thoughts !== '' || isGemini3(exchange.prompt.model)) ? signature() : {},
    signText: (): JsonObject => (thoughts !== '' ? signature() : {}),
  }
}

function wholeGemini(exchange: Exchange): JsonObject {
  const candidates = Array.from({ length: exchange.prompt.choices }, (_, index) =>
    wholeCandidate(exchange, index),
  )
  return responseObject(exchange, candidates)
}

function wholeCandidate(exchange: Exchange, index: number): JsonObject {
  const answer = fold(exchange.play())
  const signer = createSigner(exchange)
  signer.reason(answer.reasoning ?? '')
  const parts: JsonValue[] = []
  if (answer.reasoning !== undefined && exchange.prompt.reasoning === 'shown')
    parts.push({ text: answer.reasoning, thought: true })
  const calls = answer.calls.filter(call => call.ended)
  const text = answer.textTokens.join('') + answer.refusal
  if (text !== '') parts.push({ text, ...(calls.length === 0 ? signer.signText() : {}) })
  if (answer.hasImage) parts.push(image())
  for (const [call, { tool, input }] of calls.entries()) {
    parts.push({ functionCall: callOf(exchange, tool, `${index}${call}`, input), ...signer.sign(call === 0) })
  }
  const content = parts.length > 0 ? { parts, role: 'model' } : { role: 'model' }
  return { content, finishReason: FINISH[answer.finish], index, ...logprobsOf(answer.textTokens, exchange) }
}

/** Only newer models give their calls an id. */
function callOf(exchange: Exchange, tool: OfferedTool, place: string, input: string): JsonObject {
  const id = isGemini3(exchange.prompt.model) ? { id: `call_${exchange.seed}${place}` } : {}
  return { ...id, name: tool.name, args: JSON.parse(input === '' ? '{}' : input) }
}

function image(): JsonObject {
  return { inlineData: { mimeType: 'image/png', data: IMAGE_BASE64 } }
}

function logprobsOf(tokens: string[], { prompt }: Exchange): JsonObject {
  const wanted = prompt.topLogprobs
  if (wanted === undefined || tokens.length === 0) return {}
  const chosen = tokens.map(token => ({
    token,
    tokenId: tokenId(token),
    logProbability: logProbability(token),
  }))
  const top = tokens.map(token => ({
    candidates: alternatives(token, wanted).map(entry => ({
      token: entry.token,
      tokenId: tokenId(entry.token),
      logProbability: entry.logprob,
    })),
  }))
  const sum = chosen.reduce((total, entry) => total + entry.logProbability, 0)
  return {
    avgLogprobs: sum / tokens.length,
    logprobsResult: { chosenCandidates: chosen, ...(wanted > 0 ? { topCandidates: top } : {}) },
  }
}

function tokenId(token: string): number {
  return Number(Bun.hash(token) % 256_000n)
}

function responseObject(exchange: Exchange, candidates: JsonObject[]): JsonObject {
  return {
    candidates,
    ...(exchange.reportsUsage ? { usageMetadata: usageOf(exchange) } : {}),
    modelVersion: exchange.prompt.model,
    responseId: exchange.seed,
  }
}

/** Counts so far: cumulative, and zero counts are left out as Google leaves them out. */
function usageOf({ input, output }: Exchange): JsonObject {
  const prompt = input.uncached + input.cacheRead
  const usage: JsonObject = {
    promptTokenCount: prompt,
    totalTokenCount: prompt + output.visible + output.reasoning,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
  }
  if (output.visible > 0) usage['candidatesTokenCount'] = output.visible
  if (output.reasoning > 0) usage['thoughtsTokenCount'] = output.reasoning
  if (input.cacheRead > 0) {
    usage['cachedContentTokenCount'] = input.cacheRead
    usage['cacheTokensDetails'] = [{ modality: 'TEXT', tokenCount: input.cacheRead }]
  }
  return usage
}

function geminiErrorBody(failure: Failure): JsonObject {
  const details: JsonValue[] = []
  if (failure.code !== null) {
    details.push({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: failure.code.toUpperCase(),
      domain: 'googleapis.com',
    })
  }
  if (failure.status === 429)
    details.push({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' })
  const error: JsonObject = {
    code: failure.status,
    message: failure.message,
    status: statusName(failure.status),
  }
  return { error: details.length === 0 ? error : { ...error, details } }
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

function statusName(status: number): string {
  return STATUS_NAMES[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT')
}
