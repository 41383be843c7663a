import type { ModelTraits } from '@/formats/anthropic-messages/models.ts'
import type { Target } from '@/formats/codec.ts'
import type { Losses } from '@/formats/losses.ts'
import type { TextPart } from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import { encodePart } from './part-encode.ts'

/** One message under construction. */
interface Entry {
  role: Turn['role']
  blocks: JsonObject[]
}

/** What decides how a turn is written, beside the turn. */
interface MessageContext {
  target: Target
  model: ModelTraits
  /** Indexes of the turns whose thoughts are sent. */
  thoughts: ReadonlySet<number>
  /** Whether this answer will think: then it cannot continue an assistant turn. */
  thinking: boolean
  losses: Losses
}

/** Said by the user where the API wants a user's turn and the conversation has none. */
const FILLER: JsonObject = { type: 'text', text: 'Continue.' }

/** Paired turns (tools/paired-turns.ts) as messages that the API accepts: alternating, from user to user. */
export function encodeMessages(turns: readonly Turn[], context: MessageContext): JsonObject[] {
  const entries = turns.map((turn, index) => encodeTurn(turn, index, context))
  const messages = placeSystem(merge(entries.filter(entry => entry.blocks.length > 0)))
  if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', blocks: [FILLER] })
  finish(messages, context)
  return messages.map(({ role, blocks }) => ({ role, content: blocks }))
}

/** System turns at the very head belong to the instructions; the rest is the talk. */
export function splitHead(turns: readonly Turn[]): { head: TextPart[]; headTurns: number } {
  const talk = turns.findIndex(turn => turn.role !== 'system')
  const headTurns = talk === -1 ? turns.length : talk
  const head = turns.slice(0, headTurns).flatMap(turn => turn.parts.filter(part => part.type === 'text'))
  return { head, headTurns }
}

function encodeTurn(turn: Turn, index: number, context: MessageContext): Entry {
  const role = turn.role === 'system' && !context.model.systemTurns ? 'user' : turn.role
  const { target, losses } = context
  const thoughts = context.thoughts.has(index)
  return { role, blocks: turn.parts.flatMap(part => encodePart(part, { role, target, thoughts, losses })) }
}

/** Neighbours of one role as one message. */
function merge(entries: readonly Entry[]): Entry[] {
  const merged: Entry[] = []
  for (const entry of entries) {
    const last = merged.at(-1)
    if (last?.role === entry.role) last.blocks.push(...entry.blocks)
    else merged.push({ role: entry.role, blocks: [...entry.blocks] })
  }
  return merged
}

/** The API takes a system message only right after a user's, and not before another one; elsewhere it becomes user text. */
function placeSystem(entries: readonly Entry[]): Entry[] {
  return merge(
    entries.map((entry, index) => {
      const isPlaced = entries[index - 1]?.role === 'user' && entries[index + 1]?.role !== 'user'
      return entry.role === 'system' && !isPlaced ? { ...entry, role: 'user' } : entry
    }),
  )
}

/** A final assistant turn is a beginning that the answer continues, where the model does that at all. */
function finish(messages: Entry[], context: MessageContext): void {
  const last = messages.at(-1)
  // A turn that the server's tools paused is continued by sending it back as it is.
  if (last?.role !== 'assistant' || last.blocks.some(block => block['type'] === 'server_tool_use')) return
  if (!context.model.prefill || context.thinking) {
    messages.push({ role: 'user', blocks: [FILLER] })
    return
  }
  // Without thinking the API takes no thoughts in what the answer continues.
  const blocks = last.blocks.filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  if (blocks.length < last.blocks.length) context.losses.add('reasoningHistory')
  last.blocks = blocks
  const block = last.blocks.at(-1)
  const text = asString(block?.['text'])
  if (block?.['type'] === 'text' && text !== undefined) {
    last.blocks[last.blocks.length - 1] = { ...block, text: text.trimEnd() }
  }
}
