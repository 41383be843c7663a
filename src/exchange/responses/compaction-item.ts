import type { ExchangeRecord } from '@/exchange/record.ts'
import { isEventStream } from '@/exchange/relay/reply.ts'
import { CODECS } from '@/formats/registry.ts'
import { asArray, asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import { formatEvent, type SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'
import type { ResponseGateway } from './kept-responses.ts'
import type { ResponseTurn } from './turn.ts'

/** A request that asks for a compaction item, and its exchange. */
interface Asked {
  gateway: ResponseGateway
  record: ExchangeRecord
  turn: ResponseTurn
}

/**
 * Whether a request asks for its conversation as one `compaction` item in place of an answer, as Codex does of OpenAI, which
 * is handed it as it is; any other upstream is asked for a summary, which becomes the item.
 */
export function wantsCompactionItem(json: JsonObject): boolean {
  return asObject(asArray(json['input']).at(-1))?.['type'] === 'compaction_trigger'
}

/**
 * The answer to such a request: a summary that was asked for in place of the item becomes one of ours; the answer of an
 * upstream that was handed the request is given as it is, whatever it says. Which of them it is, is known once something of
 * the answer is there: until then another route may be tried.
 */
export async function inCompactionItem(response: Response, asked: Asked): Promise<Response> {
  if (!response.ok) return response
  if (isEventStream(response.headers.get('content-type'))) return itemStream(response, asked)
  const text = await response.text()
  const { asksForSummary } = asked.record
  const told = asksForSummary ? JSON.stringify(compacted(parseObject(text) ?? {}, asked)) : text
  return new Response(told, response)
}

/** A summary as an item of output, which is read when it comes back as input (turn.ts). */
export function compactionItem(
  { responses }: ResponseGateway,
  turn: ResponseTurn,
  summary: string,
): JsonObject {
  return {
    id: `cmp_${turn.id.replace(/^resp_/, '')}`,
    type: 'compaction',
    encrypted_content: responses.compactions.seal(turn.accountId, summary),
  }
}

/** What a response says; empty for one that says nothing. */
export function summaryOf(response: JsonObject): string {
  return asArray(response['output'])
    .flatMap(item => asArray(asObject(item)?.['content']))
    .map(part => asString(asObject(part)?.['text']) ?? '')
    .join('')
    .trim()
}

/** A response with its summary as the only item. One that was cut short has none: half a conversation is not one. */
function compacted(response: JsonObject, { gateway, turn }: Asked): JsonObject {
  if (response['status'] !== 'completed') return { ...response, output: [] }
  const summary = summaryOf(response)
  if (summary !== '') return { ...response, output: [compactionItem(gateway, turn, summary)] }
  const error = { code: 'server_error', message: 'The model answered without a summary' }
  return { ...response, status: 'failed', completed_at: null, error, output: [] }
}

function itemStream(response: Response, asked: Asked): Response {
  if (response.body === null) return response
  const parser = createSseParser()
  const writer = new ItemWriter(asked)
  const told = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (!asked.record.asksForSummary) return controller.enqueue(chunk)
        let text = ''
        parser.push(chunk, event => {
          text += writer.write(event)
        })
        controller.enqueue(Buffer.from(text === '' ? KEEPALIVE : text))
      },
    }),
  )
  return new Response(told, response)
}

/** What the caller gets while the summary is being written. */
const KEEPALIVE = CODECS['openai-responses'].keepalive

/** Writes a streamed summary's events as those of an item; numbers them anew, since most are left out. */
class ItemWriter {
  readonly #asked: Asked
  #number = 0

  constructor(asked: Asked) {
    this.#asked = asked
  }

  /** What becomes of an event; empty where the caller gets nothing of it. */
  write({ data }: SseEvent): string {
    const event = parseObject(data) ?? {}
    const type = asString(event['type']) ?? ''
    const response = asObject(event['response'])
    if (type === 'error') return this.#event(event)
    if (response === undefined) return ''
    if (response['status'] === 'in_progress') return this.#event(event)
    const whole = compacted(response, this.#asked)
    const items = asArray(whole['output']).flatMap(item =>
      ['added', 'done'].map(what =>
        this.#event({ type: `response.output_item.${what}`, output_index: 0, item }),
      ),
    )
    const end = this.#event({ ...event, type: `response.${String(whole['status'])}`, response: whole })
    return [...items, end].join('')
  }

  #event(event: JsonObject): string {
    const numbered = { ...event, sequence_number: this.#number++ }
    return formatEvent(asString(event['type']), JSON.stringify(numbered))
  }
}
