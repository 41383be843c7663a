import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { asObject, type JsonObject, parseObject } from '@/json/json.ts'
import type { Recording } from '@/simulator/recordings.ts'
import { chatCaller } from './chat-caller.ts'
import { geminiCaller } from './gemini-caller.ts'
import { messagesCaller } from './messages-caller.ts'
import { responsesCaller } from './responses-caller.ts'
import type { Caller, Side } from './talk.ts'

/** A gateway with the simulator behind it, and the official SDKs pointed at the gateway. */
export interface Rig {
  gateway: TestGateway
  callers: Record<Side, Caller>
  /** Every request that the upstream got since the last call of `forget`, oldest first. */
  recordings(): readonly Recording[]
  forget(): void
  /** Sends a recorded request to the upstream once more, as it was but in one piece. */
  replay(recording: Recording): Promise<JsonObject>
  /** What was stored of the last exchange: all input tokens, all output tokens, and those spent thinking. */
  stored(): Promise<{ input: number; output: number; reasoning: number }>
  close(): Promise<void>
}

/** Models whose vendors have rules of their own, beside those of the test gateway. */
const MODELS = [
  ['chat', 'filter'],
  ['responses', 'filter'],
  ['messages', 'filter'],
  ['gemini', 'filter'],
  ['gemini', 'gemini-3-pro/echo'],
  ['gemini', 'gemini-3-pro/tool'],
  ['gemini', 'gemini-3-pro/parallel'],
  ['gemini', 'gemini-3-pro/reason+tool'],
  ['gemini', 'gemini-3-pro/reason+parallel'],
  ['gemini', 'imagen/echo'],
  ['chat', 'reason+parallel'],
  ['responses', 'reason+parallel'],
  ['messages', 'reason+parallel'],
  ['gemini', 'reason+parallel'],
]

const VIDEO_MAKERS = ['chat', 'responses', 'gemini']

/** @param functionToolsOnly true: upstreams take nothing but function tools, so that every request is written anew */
export async function startRig({ functionToolsOnly = false } = {}): Promise<Rig> {
  const models = MODELS.map(
    ([side, model]) =>
      `  - { id: "${side}/${model}", channels: [{ channel: ${side}, model: "${model}" }], prices: { input: 1, output: 2 } }`,
  )
  const films = VIDEO_MAKERS.map(
    side =>
      `  - { id: "${side}/video", channels: [{ channel: ${side}, model: echo }], prices: { per_video_second: 0.1 } }`,
  )
  const gateway = await startTestGateway({
    models: [...models, ...films].join('\n'),
    channelOptions: `function_tools_only: ${functionToolsOnly}`,
  })
  const address = { url: gateway.url.replace(/\/$/, ''), key: gateway.key }
  const { recordings } = gateway.simulator.simulator
  return {
    gateway,
    callers: {
      chat: chatCaller(address),
      responses: responsesCaller(address),
      messages: messagesCaller(address),
      gemini: geminiCaller(address),
    },
    recordings: () => recordings.all(),
    forget: () => recordings.clear(),
    replay: recording => replay(gateway.simulator.url, recording),
    stored: () => storedUsage(gateway),
    close: () => gateway.close(),
  }
}

async function storedUsage(gateway: TestGateway) {
  await gateway.server.flush()
  const [row] = await gateway.database.sql`
    select input_uncached + cache_read + cache_write5m + cache_write1h + audio_input as input,
      output_text + reasoning + audio_output as output, reasoning
    from exchange order by id desc limit 1`
  return {
    input: Number(row?.['input']),
    output: Number(row?.['output']),
    reasoning: Number(row?.['reasoning']),
  }
}

/** The JSON of a recorded request. */
export function bodyOf(recording: Recording | undefined): JsonObject {
  const body = recording && parseObject(textOf(recording))
  if (body === undefined) throw new Error('the upstream got no request')
  return body
}

/** The recorded request as it was on the wire. */
export function textOf(recording: Recording): string {
  return Buffer.from(recording.bodyBase64, 'base64').toString()
}

async function replay(url: string, recording: Recording): Promise<JsonObject> {
  const { stream: _, stream_options: __, ...body } = bodyOf(recording)
  const path = recording.path.replace(':streamGenerateContent', ':generateContent')
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer replayed', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  })
  const answer = asObject(await response.json())
  if (!response.ok || answer === undefined) throw new Error(`the replay failed: ${response.status}`)
  return answer
}
