import { inTime } from '@/db/in-time.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { asArray, asObject, type JsonObject, type JsonValue, parseObject } from '@/json/json.ts'
import { PLAIN_TEXTS, type Texts } from '@/json/outline.ts'
import type { ResponseGateway } from './kept-responses.ts'

/** An item that is longer than this is no reference, and need not be parsed to know that. */
const MAX_REFERENCE_LENGTH = 1024

/** Items that one request may name: each is looked for in an index. */
const MAX_REFERENCES = 10_000

/**
 * The AI SDK of every version that knows Responses (`ai/6.0.1 ai-sdk/provider-utils/4.0.1`,
 * `ai/7.0.1 ai-sdk-provider-utils/5.0.1`), and Microsoft's Agent Framework (`agent-framework-python/1.23.0`).
 */
const TAKE_FOR_STORED = /\bai-sdk[-/]|\bagent-framework-python\//

/**
 * Whether a caller takes what it is answered for stored unless it says otherwise. The AI SDK does: of what a model
 * said it sends only ids in the next turn, whatever an answer says of `store`. So does the Agent Framework, which sends
 * the id of the response alone.
 */
export function takesForStored(headers: Headers): boolean {
  return TAKE_FOR_STORED.test(headers.get('user-agent') ?? '')
}

/** Whether a body, which may be an outline, names items by their ids alone. */
export function refersToItems(json: JsonObject, texts: Texts): boolean {
  return asArray(json['input']).some(item => referredId(item, texts) !== undefined)
}

/** Told how many bytes more will be in memory, before they are. @throws what there is no room for them with */
export type Reckon = (bytes: number) => void

/**
 * Puts the items that are stored for an account in the place of references to them. Others stay: whoever converts or
 * passes them on knows which of them may be left out.
 * @throws GatewayError `body_too_large`, `invalid_request` for too many of them, and what `reckon` throws
 */
export async function resolveReferences(
  gateway: ResponseGateway,
  accountId: number,
  items: readonly string[],
  reckon: Reckon,
): Promise<readonly string[]> {
  const ids = items.map(item =>
    item.length > MAX_REFERENCE_LENGTH ? undefined : referredId(parseObject(item), PLAIN_TEXTS),
  )
  const named = new Set(ids.filter(id => id !== undefined))
  if (named.size === 0) return items
  if (named.size > MAX_REFERENCES) {
    throw invalidRequest('input', `refers to more than ${MAX_REFERENCES} items by their ids`)
  }
  const { responses, maxBodyBytes, clock } = gateway
  const found = await inTime(responses.store.items(accountId, named, maxBodyBytes, reckon), clock)
  if (found === 'too-large') throw tooLarge(maxBodyBytes)
  let room = maxBodyBytes
  return items.map((item, index) => {
    const stored = found.get(ids[index] ?? '')
    if (stored === undefined) return item
    // An item takes as much again each time that it is named.
    room -= stored.length
    if (room < 0) throw tooLarge(maxBodyBytes)
    reckon(stored.length)
    return stored
  })
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The items that the request refers to are larger than this gateway's limit of ${maxBytes} bytes`,
    { param: 'input' },
  )
}

/** The id that an item consists of; undefined if it is an item itself. */
function referredId(value: JsonValue | undefined, texts: Texts): string | undefined {
  const item = asObject(value)
  const id = item?.['id']
  if (item === undefined || typeof id !== 'string') return undefined
  const { type } = item
  const isBare =
    (type === undefined || type === null) && item['role'] === undefined && item['content'] === undefined
  return type === 'item_reference' || isBare ? texts.whole(id) : undefined
}
