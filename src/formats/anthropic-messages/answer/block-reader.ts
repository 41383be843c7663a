import { decodeOpaque } from '@/formats/anthropic-messages/block-decode.ts'
import { decodeCitation, decodeCitations } from '@/formats/anthropic-messages/citation.ts'
import { type DeltaType, FORMAT } from '@/formats/anthropic-messages/wire.ts'
import type { DecodeContext } from '@/formats/codec.ts'
import { joinPairs } from '@/formats/surrogates.ts'
import type { CallIds } from '@/formats/tools/call-ids.ts'
import { type Emit, withhold } from '@/generation/event.ts'
import type { Citation, Signature } from '@/generation/part.ts'
import {
  asNonEmpty,
  asObject,
  asString,
  isKeyOf,
  type JsonObject,
  type JsonValue,
  parseObject,
} from '@/json/json.ts'

/** A block that has begun. `held` is the first half of a surrogate pair whose second half is yet to come. */
export type OpenBlock =
  | { kind: 'text'; block: number; held: string; citations: Citation[] }
  | { kind: 'thinking'; block: number; held: string; signature: string; begun: boolean }
  | { kind: 'redacted'; block: number; data: string }
  | { kind: 'tool'; block: number; held: string; input: JsonValue | undefined; written: boolean }
  | { kind: 'opaque'; block: number; value: JsonObject; partialInput: string }

/** Tells of a block's beginning, and of what its first event already holds. */
export function openBlock(content: JsonObject, block: number, callIds: CallIds, emit: Emit): OpenBlock {
  const at = { block, candidate: 0 }
  switch (content['type']) {
    case 'text': {
      emit({ type: 'text-start', ...at })
      const text = asString(content['text']) ?? ''
      if (text !== '') emit({ type: 'text-delta', block, text })
      return { kind: 'text', block, held: '', citations: decodeCitations(content['citations']) }
    }
    case 'thinking': {
      emit({ type: 'reasoning-start', ...at, id: undefined, raw: false, redacted: false })
      const signature = asString(content['signature']) ?? ''
      const open: OpenBlock = { kind: 'thinking', block, held: '', signature, begun: false }
      addThought(open, asString(content['thinking']) ?? '', emit)
      return open
    }
    case 'redacted_thinking':
      emit({ type: 'reasoning-start', ...at, id: undefined, raw: false, redacted: true })
      return { kind: 'redacted', block, data: asString(content['data']) ?? '' }
    case 'tool_use':
      emit({
        type: 'tool-input-start',
        ...at,
        kind: 'function',
        callId: callIds.take(asNonEmpty(content['id'])),
        name: asString(content['name']) ?? '',
        namespace: undefined,
      })
      return { kind: 'tool', block, held: '', input: content['input'], written: false }
    default:
      return { kind: 'opaque', block, value: content, partialInput: '' }
  }
}

/** Tells of a delta. One of a kind that does not fit its block says nothing. */
export function addDelta(open: OpenBlock, delta: JsonObject, emit: Emit): void {
  const { type } = delta
  if (!isKeyOf(DELTA_TYPES, type)) return
  switch (type) {
    case 'text_delta':
      if (open.kind === 'text') addText(open, asString(delta['text']) ?? '', emit)
      return
    case 'input_json_delta':
      return addInput(open, asString(delta['partial_json']) ?? '', emit)
    case 'thinking_delta':
      if (open.kind === 'thinking') addThought(open, asString(delta['thinking']) ?? '', emit)
      return
    case 'signature_delta':
      if (open.kind === 'thinking') open.signature = asString(delta['signature']) ?? ''
      return
    case 'citations_delta': {
      const citation = asObject(delta['citation'])
      if (open.kind === 'text' && citation !== undefined) open.citations.push(decodeCitation(citation))
      return
    }
    case 'compaction_delta':
      if (open.kind !== 'opaque') return
      open.value = compacted(open.value, delta)
      return withhold(asString(delta['content']), emit)
    default:
      return type satisfies never
  }
}

const DELTA_TYPES: Record<DeltaType, true> = {
  text_delta: true,
  input_json_delta: true,
  thinking_delta: true,
  signature_delta: true,
  citations_delta: true,
  compaction_delta: true,
}

function addText(open: Extract<OpenBlock, { kind: 'text' }>, piece: string, emit: Emit): void {
  const text = joinPairs(open, piece)
  if (text !== '') emit({ type: 'text-delta', block: open.block, text })
}

function addThought(open: Extract<OpenBlock, { kind: 'thinking' }>, piece: string, emit: Emit): void {
  const text = joinPairs(open, piece)
  if (text === '') return
  if (!open.begun) emit({ type: 'reasoning-paragraph', block: open.block })
  open.begun = true
  emit({ type: 'reasoning-delta', block: open.block, text })
}

function addInput(open: OpenBlock, piece: string, emit: Emit): void {
  if (open.kind === 'opaque') {
    open.partialInput += piece
    withhold(piece, emit)
  }
  if (open.kind !== 'tool') return
  const text = joinPairs(open, piece)
  if (text === '') return
  open.written = true
  emit({ type: 'tool-input-delta', block: open.block, text })
}

/** A compaction with what its delta adds: text, and state that is sent back as it came. */
function compacted(value: JsonObject, { content, encrypted_content: sealed }: JsonObject): JsonObject {
  return {
    ...value,
    ...(typeof content === 'string' && { content: (asString(value['content']) ?? '') + content }),
    ...(typeof sealed === 'string' && { encrypted_content: sealed }),
  }
}

/** Tells of a block's end. */
export function closeBlock(open: OpenBlock, context: DecodeContext, emit: Emit): void {
  const { block } = open
  switch (open.kind) {
    case 'text':
      if (open.held !== '') emit({ type: 'text-delta', block, text: open.held })
      // They are about all of the block's text, before which they come.
      for (const citation of open.citations) emit({ type: 'text-citation', block, citation })
      return emit({ type: 'text-end', block, signature: undefined })
    case 'thinking':
      if (open.held !== '') emit({ type: 'reasoning-delta', block, text: open.held })
      return emit({ type: 'reasoning-end', block, signature: made(open.signature, context) })
    case 'redacted':
      return emit({ type: 'reasoning-end', block, signature: made(open.data, context) })
    case 'tool': {
      const rest = open.written ? open.held : JSON.stringify(open.input ?? {})
      if (rest !== '') emit({ type: 'tool-input-delta', block, text: rest })
      return emit({ type: 'tool-input-end', block, signature: undefined })
    }
    case 'opaque':
      return emit({ type: 'opaque', block, candidate: 0, part: decodeOpaque(withInput(open)) })
    default:
      return open satisfies never
  }
}

function made(value: string, context: DecodeContext): Signature | undefined {
  return value === '' ? undefined : { format: FORMAT, vendor: context.vendor, value }
}

/** A server tool's call with its streamed input, as the whole answer would show it. */
function withInput(open: Extract<OpenBlock, { kind: 'opaque' }>): JsonObject {
  const input = parseObject(open.partialInput)
  return input === undefined ? open.value : { ...open.value, input }
}

/** Whether a delta is words of the other kind: some servers announce a text and think in it, or the other way round. */
export function isOfOther({ kind }: OpenBlock, type: JsonValue | undefined): boolean {
  return (kind === 'text' && type === 'thinking_delta') || (kind === 'thinking' && type === 'text_delta')
}

/** The block that a delta without a start must belong to, where the delta says it all. */
export function impliedBlock(type: JsonValue | undefined): JsonObject | undefined {
  switch (type) {
    case 'text_delta':
      return { type: 'text', text: '' }
    case 'thinking_delta':
      return { type: 'thinking', thinking: '' }
    default:
      return undefined
  }
}
