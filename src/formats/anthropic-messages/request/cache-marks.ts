import type { Losses } from '@/formats/losses.ts'
import type { CacheMark } from '@/generation/part.ts'
import { asArray, asObject, isJsonObject, type JsonObject, present } from '@/json/json.ts'

/** The API's limit for one request. */
const MAX_MARKS = 4

/** The block with its cache mark, or as it is. */
export function marked(block: JsonObject, cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return block
  return { ...block, cache_control: present({ type: 'ephemeral', ttl: cache.ttl }) }
}

/**
 * Holds the body to the API's rules for marks: at most four (the last ones are kept, they cover the longest prefix),
 * and no long lifetime after a short one. The body is ours and fresh, so it is edited in place.
 */
export function limitCacheMarks(body: JsonObject, losses: Losses): void {
  const blocks = markedBlocks(body)
  const room = MAX_MARKS - (asObject(body['cache_control']) === undefined ? 0 : 1)
  for (const block of blocks.splice(0, Math.max(0, blocks.length - room))) {
    delete block['cache_control']
    losses.add('cacheMark')
  }
  let short = false
  for (const block of blocks) {
    const long = asObject(block['cache_control'])?.['ttl'] === '1h'
    if (long && short) {
      block['cache_control'] = { type: 'ephemeral' }
      losses.add('cacheMark')
    }
    short ||= !long
  }
}

/**
 * Asks for the cache that OpenAI's callers get unasked, and name in `prompt_cache_key`: without a mark this API keeps
 * nothing, and every turn of an agent pays for the whole conversation. Marked are the end of what stays (system, which
 * stands behind the tools) and of the last two user messages: the API looks for what it kept at most 20 blocks before a
 * mark, and a turn of parallel calls is longer. Marks of the caller's own say it better. Not by one mark for the whole
 * body: who serves Anthropic's models elsewhere does not take that.
 */
export function cacheUnlessMarked(body: JsonObject): void {
  if (body['cache_control'] !== undefined || markedBlocks(body).length > 0) return
  const { system } = body
  if (typeof system === 'string') body['system'] = [{ type: 'text', text: system }]
  const stays = asArray(body['system'] ?? body['tools'])
  const asked = asArray(body['messages'])
    .map(asObject)
    .filter(message => message?.['role'] === 'user')
    .slice(-2)
  for (const blocks of [stays, ...asked.map(message => asArray(message?.['content']))]) {
    const last = asObject(blocks.at(-1))
    if (last !== undefined) blocks.splice(-1, 1, marked(last, { ttl: undefined }))
  }
}

/** Every block with a mark, in the order in which the API reads a prompt: tools, system, messages. */
function markedBlocks(body: JsonObject): JsonObject[] {
  const found: JsonObject[] = []
  const visit = (blocks: readonly unknown[]) => {
    for (const block of blocks) {
      if (!isJsonObject(block)) continue
      if (block['type'] === 'tool_result') visit(asArray(block['content']))
      if (isJsonObject(block['cache_control'])) found.push(block)
    }
  }
  visit(asArray(body['tools']))
  visit(asArray(body['system']))
  for (const message of asArray(body['messages'])) visit(asArray(asObject(message)?.['content']))
  return found
}
