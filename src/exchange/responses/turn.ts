import { inTime } from '@/db/in-time.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { bodyOf, type RequestBody } from '@/exchange/admission/body.ts'
import { GrowingRoom, termsOf } from '@/exchange/admission/body-arrival.ts'
import { callerOf, type ExchangeRecord } from '@/exchange/record.ts'
import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { responseId } from '@/formats/openai-responses/answer/error.ts'
import { asArray, asObject, type JsonObject, parseObject } from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import { sliceItems } from '@/json/slice.ts'
import { type JsonEdit, spliceJson } from '@/json/splice.ts'
import { type Compactions, isOurs } from '@/stored-responses/compaction.ts'
import type { StoredTurn } from '@/stored-responses/stored-response.ts'
import type { ResponseGateway } from './kept-responses.ts'
import { type Reckon, resolveReferences } from './references.ts'

/** A request of the Responses surface that goes on from kept state, or asks for some to be kept. */
export interface ResponseTurn {
  /** The id that its response gets if it is kept. */
  id: string
  accountId: number
  /** The response that it goes on from. */
  previousId: string | undefined
  keeps: boolean
  background: boolean
  /** Whether the caller asked for a stream; a background response always is one inside. */
  streams: boolean
  /** As the caller named it. */
  model: string
  /** The items of the conversation before this turn, as JSON texts. */
  earlier: readonly string[]
  /** The items of this turn's own input, as the caller spelled them. */
  input: readonly string[]
  /** The caller's own body. */
  wire: JsonObject
  /** Milliseconds since 1970. */
  createdAt: number
}

/** The conversations of one connection, which need no storage to be gone on with. */
export interface TurnMemory {
  /** The items of the conversation up to and with a response; undefined: not known. */
  find(id: string): readonly string[] | undefined
  remember(id: string, items: readonly string[]): void
}

/** More input than this is not kept in one turn, in bytes. */
const MAX_KEPT_INPUT_BYTES = 16 * 1024 * 1024

/** What was kept takes the memory of so many bodies of its size: as it lay there, as items, and in the body that is made. */
const BODIES = 2

/** What of a body touches kept state. */
export interface StateFields {
  previousId: string | undefined
  /** `implied`: the caller says nothing, and takes the answer for stored; what may not be kept is then just not kept. */
  keeps: boolean | 'implied'
  background: boolean
}

/**
 * Whether a request touches kept state at all.
 * @param unsaid what a caller keeps who says nothing of `store`
 * @throws GatewayError `invalid_request`, `unsupported_parameter`
 */
export function readStateFields(json: JsonObject, unsaid: StateFields['keeps']): StateFields | undefined {
  const previousId = textField(json, 'previous_response_id')
  const store = flagField(json, 'store')
  const background = flagField(json, 'background') === true
  if (json['conversation'] !== undefined && json['conversation'] !== null) {
    throw unsupported(
      'conversation',
      'is not served here: use previous_response_id, or send the items themselves',
    )
  }
  if (background && store === false) {
    throw unsupported('background', 'cannot go with store: false, since its answer is fetched later')
  }
  const { completion_window: window } = asObject(json['background_options']) ?? {}
  if (background && (window ?? 'soonest') !== 'soonest') {
    throw unsupported(
      'background_options.completion_window',
      "can be 'soonest' only: the discount for an answer that comes later is not given here",
    )
  }
  const keeps = background || (store ?? unsaid)
  if (previousId === undefined && !keeps) return undefined
  return { previousId, keeps, background }
}

/**
 * What a request goes on from whose answer is not kept, whatever it says of that.
 * @throws GatewayError as `readStateFields` does
 */
export function readReference(json: JsonObject): StateFields {
  return { ...NOTHING_KEPT, previousId: readStateFields(json, false)?.previousId }
}

/** A request that neither goes on from what is kept nor asks for anything to be kept. */
export const NOTHING_KEPT: StateFields = { previousId: undefined, keeps: false, background: false }

/** A request that a turn is made of. */
interface TurnRequest {
  body: RequestBody
  fields: StateFields
  /** What its connection remembers; undefined: only what is stored is known. */
  memory?: TurnMemory | undefined
  /** Whether an answer is wanted of the conversation, or to have it compacted; an answer, unless said. */
  purpose?: 'answer' | 'compact'
}

/**
 * Puts the conversation that a request goes on with in front of its input.
 * @returns the turn, and the body to go on with: it refers to nothing that is kept here
 * @throws GatewayError `previous_response_not_found`, `unsupported_parameter` where nothing may be kept, `body_too_large`,
 * `invalid_request` for one of too many parts, `overloaded` where there is no memory for the conversation
 */
export async function openTurn(
  gateway: ResponseGateway,
  record: ExchangeRecord,
  { body, fields, memory, purpose = 'answer' }: TurnRequest,
): Promise<{ turn: ResponseTurn; body: RequestBody }> {
  const { accountId, storeAllowed } = callerOf(record)
  const { previousId, background } = fields
  if (fields.keeps === true && !storeAllowed) {
    throw unsupported(
      background ? 'background' : 'store',
      'is not allowed: no content is kept for this account or key',
    )
  }
  const input = ownItems(body)
  if (fields.keeps === true) assertKeepable(input)
  const keeps = fields.keeps === 'implied' ? storeAllowed && isKeepable(input) : fields.keeps
  const room = new GrowingRoom(termsOf(callerOf(record), gateway))
  let reckoned = 0
  const reckon = (bytes: number) => {
    reckoned += bytes
    room.growTo(BODIES * reckoned)
  }
  try {
    const earlier =
      previousId === undefined ? [] : await earlierItems(gateway, accountId, previousId, memory, reckon)
    const turn: ResponseTurn = {
      id: responseId(record.id),
      accountId,
      previousId,
      keeps,
      background,
      streams: body.json['stream'] === true,
      model: String(body.json['model']),
      earlier,
      input,
      wire: body.json,
      createdAt: record.startedAt,
    }
    const whole = await resolveReferences(gateway, accountId, [...earlier, ...input], reckon)
    const items = whole.map(item => readCompaction(item, accountId, gateway.responses.compactions))
    const stateless = withoutState(body, turn, items, purpose)
    if (stateless.length > gateway.maxBodyBytes) throw tooLarge(gateway.maxBodyBytes)
    return { turn, body: bodyOf(stateless) }
  } finally {
    room.giveBack()
  }
}

/** Whether a body, which may be an outline, brings back a summary that was made here (compact.ts). */
export function carriesCompaction(json: JsonObject, texts: Texts): boolean {
  return asArray(json['input']).some(item => {
    const object = asObject(item)
    const content = object?.['encrypted_content']
    if (object?.['type'] !== 'compaction' || typeof content !== 'string') return false
    return isOurs(texts.whole(content))
  })
}

/** A summary of ours as the message that says it; any other item as it is. */
function readCompaction(item: string, accountId: number, summaries: Compactions): string {
  if (!item.includes('"compaction"')) return item
  const json = parseObject(item)
  if (json?.['type'] !== 'compaction' || !isOurs(json['encrypted_content'])) return item
  const summary = summaries.open(accountId, json['encrypted_content'])
  if (summary === undefined)
    throw invalidRequest('input', 'holds a compaction item that was not made for this account')
  const text = `The conversation before this was summarised:\n\n${summary}`
  return JSON.stringify({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
}

function textField(json: JsonObject, name: string): string | undefined {
  const value = json[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw invalidRequest(name, 'expected string')
}

function flagField(json: JsonObject, name: string): boolean | undefined {
  const value = json[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean') return value
  throw invalidRequest(name, 'expected true or false')
}

/** The items of a body's input; a text is one message. */
function ownItems({ bytes, json }: RequestBody): string[] {
  const { input } = json
  if (typeof input === 'string') {
    const content = [{ type: 'input_text', text: input }]
    return [JSON.stringify({ type: 'message', role: 'user', content })]
  }
  return sliceItems(bytes, 'input') ?? []
}

function isKeepable(input: readonly string[]): boolean {
  return input.reduce((sum, item) => sum + Buffer.byteLength(item), 0) <= MAX_KEPT_INPUT_BYTES
}

function assertKeepable(input: readonly string[]): void {
  if (isKeepable(input)) return
  throw new GatewayError(
    'body_too_large',
    `The input is larger than the ${MAX_KEPT_INPUT_BYTES} bytes that are kept of one turn: send it without store`,
    { param: 'input' },
  )
}

async function earlierItems(
  gateway: ResponseGateway,
  accountId: number,
  id: string,
  memory: TurnMemory | undefined,
  reckon: Reckon,
): Promise<readonly string[]> {
  const remembered = memory?.find(id)
  if (remembered !== undefined) {
    reckon(remembered.reduce((sum, item) => sum + item.length, 0))
    return remembered
  }
  const { responses, maxBodyBytes, clock } = gateway
  const turns = await inTime(responses.store.conversation({ accountId, id }, maxBodyBytes, reckon), clock)
  switch (turns) {
    case 'missing':
      throw notFound(id)
    case 'running':
      throw invalidRequest('previous_response_id', `the response '${id}' has not ended yet`)
    case 'too-large':
      throw tooLarge(maxBodyBytes)
    default:
      return turns.flatMap(itemsOf)
  }
}

function notFound(id: string): GatewayError {
  return new GatewayError(
    'previous_response_not_found',
    `Previous response with id '${id.slice(0, 100)}' not found: it was not stored, which its request asks for with store: true, has expired, or was deleted`,
    { param: 'previous_response_id' },
  )
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The request with the conversation that it goes on with is larger than this gateway's limit of ${maxBytes} bytes`,
  )
}

/** The output of a response as input of the next turn. Of thoughts each upstream is told as many as it takes back. */
export function outputItems(response: string): string[] {
  return sliceItems(Buffer.from(response), 'output') ?? []
}

/** What a turn adds to its conversation. */
function itemsOf({ input, response }: StoredTurn): string[] {
  return [...input, ...outputItems(response)]
}

/** The body as an upstream may see it: nothing in it is kept anywhere, nor refers to what is. */
function withoutState(
  body: RequestBody,
  turn: ResponseTurn,
  items: readonly string[],
  purpose: 'answer' | 'compact',
): Uint8Array {
  const edits: JsonEdit[] = [
    { path: ['previous_response_id'], remove: true },
    { path: ['background'], remove: true },
    { path: ['background_options'], remove: true },
    purpose === 'compact' ? { path: ['store'], remove: true } : { path: ['store'], value: false },
  ]
  if (turn.background) edits.push({ path: ['stream'], value: true })
  const isChanged =
    items.length > turn.input.length || items.some((item, index) => item !== turn.input[index])
  if (isChanged) edits.push({ path: ['input'], text: `[${items.join(',')}]` })
  return spliceJson(body.bytes, edits)
}
