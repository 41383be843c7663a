import { NO_RESULT, orphanLabel } from '@/formats/tools/results.ts'
import type { Turn } from '@/generation/request.ts'
import { asObjects, asString, type JsonObject, present } from '@/json/json.ts'

/** One message under construction. */
export interface Entry {
  role: Turn['role']
  blocks: JsonObject[]
}

/**
 * Puts each call's result where the API wants it: all results of an assistant message at the start of the next user
 * message, in the order of the calls. A missing one is made up (the caller cut the history), one without a call
 * becomes text.
 */
export function pairResults(entries: readonly Entry[]): Entry[] {
  const paired: Entry[] = []
  let open: string[] = []
  const waiting: Entry[] = []
  const release = () => {
    paired.push(...waiting.splice(0))
    open = []
  }
  for (const entry of entries) {
    // A system message between calls and results would tear them apart: it goes after the results.
    if (entry.role === 'system' && open.length > 0) {
      waiting.push(entry)
      continue
    }
    if (entry.role === 'user') {
      paired.push({ role: 'user', blocks: answered(open, entry.blocks) })
      release()
      continue
    }
    if (open.length > 0) paired.push({ role: 'user', blocks: answered(open, []) })
    release()
    paired.push(entry)
    if (entry.role === 'assistant') open = callIds(entry.blocks)
  }
  if (open.length > 0) paired.push({ role: 'user', blocks: answered(open, []) })
  release()
  return paired
}

/**
 * Gives each call an id of its own, with its result: some models count their calls anew in every answer (`call_0`),
 * and the API takes an id once in a conversation. Pure in the order, so that a longer history begins the same.
 */
export function separateCalls(entries: readonly Entry[]): Entry[] {
  const taken = new Map<string, number>()
  let waiting = new Map<string, string[]>()
  return entries.map(({ role, blocks }) => {
    if (role === 'assistant') waiting = new Map()
    return { role, blocks: blocks.map(block => separate(block, taken, waiting)) }
  })
}

/**
 * @param taken the ids that are there, each with the number to try next for another call of that id
 * @param waiting by a call's own id, the ids of those that have no result yet
 */
function separate(block: JsonObject, taken: Map<string, number>, waiting: Map<string, string[]>): JsonObject {
  if (block['type'] === 'tool_use') {
    const own = asString(block['id']) ?? ''
    const id = freeId(own, taken)
    const others = waiting.get(own)
    if (others === undefined) waiting.set(own, [id])
    else others.push(id)
    return id === own ? block : { ...block, id }
  }
  if (block['type'] !== 'tool_result') return block
  const own = asString(block['tool_use_id']) ?? ''
  const id = waiting.get(own)?.shift() ?? own
  return id === own ? block : { ...block, tool_use_id: id }
}

/** An id that is taken from now on. */
function freeId(id: string, taken: Map<string, number>): string {
  let free = id
  let count = taken.get(id) ?? 2
  for (; taken.has(free); count += 1) free = `${id}_${count}`
  taken.set(id, count)
  if (free !== id) taken.set(free, 2)
  return free
}

function callIds(blocks: readonly JsonObject[]): string[] {
  const ids = blocks.flatMap(block => (block['type'] === 'tool_use' ? (asString(block['id']) ?? []) : []))
  return [...new Set(ids)]
}

/** The user's blocks with exactly one result for each of these calls in front. */
function answered(ids: readonly string[], blocks: readonly JsonObject[]): JsonObject[] {
  const asked = new Set(ids)
  const results = new Map<string, JsonObject>()
  const rest: JsonObject[] = []
  for (const block of blocks) {
    const id = block['type'] === 'tool_result' ? asString(block['tool_use_id']) : undefined
    if (id === undefined) rest.push(block)
    else if (asked.has(id) && !results.has(id)) results.set(id, block)
    else rest.push(...orphan(id, block))
  }
  return [...ids.map(id => results.get(id) ?? noResult(id)), ...rest]
}

function noResult(id: string): JsonObject {
  return { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }
}

/** A result whose call is not in the message before: what it says, as the user's words. */
function orphan(id: string, block: JsonObject): JsonObject[] {
  const { content, cache_control } = block
  const label = orphanLabel({ callId: id, name: undefined, isError: block['is_error'] === true })
  const text = `${label} ${asString(content) ?? ''}`.trimEnd()
  const blocks: JsonObject[] = [{ type: 'text', text }, ...asObjects(content)]
  const last = blocks.pop()
  return [...blocks, { ...last, ...present({ cache_control: last?.['cache_control'] ?? cache_control }) }]
}
