import type { Target } from '@/formats/codec.ts'
import type { Losses } from '@/formats/losses.ts'
import { isOpenais } from '@/formats/openai/models.ts'
import { cacheBreakpoint } from '@/formats/openai/shared-fields.ts'
import { encodeCall } from '@/formats/openai-responses/calls.ts'
import { itemOf } from '@/formats/openai-responses/items.ts'
import { FORMAT } from '@/formats/openai-responses/wire.ts'
import { phaseOf } from '@/formats/signatures/phase.ts'
import { signatureFor } from '@/formats/signatures/signature.ts'
import { DistinctIds, fitCallId } from '@/formats/tools/call-ids.ts'
import { argumentsText } from '@/formats/tools/call-input.ts'
import { pairedTurns } from '@/formats/tools/paired-turns.ts'
import { tellFailure, withMark } from '@/formats/tools/results.ts'
import type {
  MediaPart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import { type JsonObject, present } from '@/json/json.ts'
import { encodeMedia } from './media.ts'

/** What decides how the conversation is written, beside the conversation. */
interface HistoryOptions {
  target: Target
  /** Whether the model takes cache marks on parts. */
  cacheBreakpoints: boolean
  /**
   * Whether it takes thoughts back in words, as servers of open weights do, which make messages of Chat Completions of the
   * items: what is said in one goes before its calls.
   */
  takesWords: boolean
}

/** The conversation as input items. */
export function encodeHistory(turns: readonly Turn[], options: HistoryOptions, losses: Losses): JsonObject[] {
  return new HistoryWriter(options, losses).write(pairedTurns(turns, fitCallId))
}

/** What the assistant says, as content of its message. */
type SaidContent =
  | { type: 'output_text'; text: string; annotations: JsonObject[] }
  | { type: 'refusal'; refusal: string }

/** A message of the assistant that more may be said in. */
interface OpenMessage {
  content: SaidContent[]
  phase: string | undefined
}

class HistoryWriter {
  readonly #options: HistoryOptions
  readonly #isOpenais: boolean
  readonly #losses: Losses
  readonly #items: JsonObject[] = []
  readonly #ids = new DistinctIds(id => id)

  constructor(options: HistoryOptions, losses: Losses) {
    this.#options = options
    this.#isOpenais = isOpenais(options.target)
    this.#losses = losses
  }

  /** @param turns paired (tools/paired-turns.ts) */
  write(turns: readonly Turn[]): JsonObject[] {
    for (const turn of turns) {
      if (turn.role === 'assistant') this.#assistant(turn.parts)
      else this.#prompt(turn)
    }
    return this.#items
  }

  #prompt({ role, parts }: Turn): void {
    let content: JsonObject[] = []
    const flush = () => {
      if (content.length > 0) this.#items.push({ type: 'message', role, content })
      content = []
    }
    for (const part of parts) {
      if (part.type === 'tool-result') {
        flush()
        this.#output(part)
      } else if (part.type === 'opaque') {
        flush()
        this.#opaque(part)
      } else content.push(...this.#promptContent(part))
    }
    flush()
  }

  #promptContent(part: Part): JsonObject[] {
    switch (part.type) {
      case 'text':
        return part.text === '' ? [] : [this.#inputText(part)]
      case 'refusal':
        return part.text === '' ? [] : [{ type: 'input_text', text: part.text }]
      case 'media':
        return [this.#media(part)]
      default:
        if (part.type === 'reasoning') this.#losses.add('reasoningHistory')
        return []
    }
  }

  #assistant(turn: readonly Part[]): void {
    let message: OpenMessage | undefined
    const parts = this.#options.takesWords ? callsLast(turn) : turn
    const lastSaid = parts.findLastIndex(isSaid)
    const isCalling = parts.some(part => part.type === 'tool-call')
    for (const [place, part] of parts.entries()) {
      if (this.#seal(part)) message = undefined
      const said = this.#assistantContent(part)
      if (said !== undefined) {
        const phase = part.type === 'text' ? phaseOf(part.signature) : undefined
        if (message === undefined || message.phase !== phase) message = this.#openMessage(phase)
        this.#say(said, message)
        continue
      }
      if (part.type === 'text' || part.type === 'refusal') continue
      message = undefined
      if (part.type === 'reasoning') this.#reasoning(part, place < lastSaid, isCalling)
      else this.#item(part)
    }
  }

  /** What of an assistant's turn is an item of its own, beside thoughts. */
  #item(part: Part): void {
    if (part.type === 'opaque') this.#opaque(part)
    else if (part.type === 'media') this.#image(part)
    else if (part.type === 'tool-call') this.#call(part)
  }

  /** vLLM reads of a message of the assistant's the first text alone, so that elsewhere than at OpenAI it has but one. */
  #say(said: SaidContent, { content }: OpenMessage): void {
    const last = content.at(-1)
    if (this.#isOpenais || said.type === 'refusal' || last?.type !== 'output_text') {
      content.push(said)
      return
    }
    last.text += said.text
    if (said.annotations.length > 0) this.#losses.add('citations')
  }

  /** An item for what the assistant says in one phase, in a row. */
  #openMessage(phase: string | undefined): OpenMessage {
    const content: SaidContent[] = []
    this.#items.push(present({ type: 'message', role: 'assistant', content, phase }))
    return { content, phase }
  }

  /**
   * Reasoning that a format without an item for it (Gemini's) carried on the text or call it led to.
   * @returns whether an item was written.
   */
  #seal(part: Part): boolean {
    if (part.type !== 'text' && part.type !== 'tool-call') return false
    const { signature } = part
    if (signature === undefined || signature.value === '' || phaseOf(signature) !== undefined) return false
    const encrypted = signatureFor(signature, FORMAT, this.#options.target.vendor)
    const last = this.#items.at(-1)
    if (encrypted === undefined) this.#losses.add('reasoningHistory')
    if (encrypted === undefined || isEmptyText(part) || last?.['encrypted_content'] === encrypted)
      return false
    this.#items.push({ type: 'reasoning', summary: [], encrypted_content: encrypted })
    return true
  }

  /** OpenAI alone tells a refusal from other words. */
  #assistantContent(part: Part): SaidContent | undefined {
    if (part.type === 'refusal' && part.text !== '') {
      const { text } = part
      return this.#isOpenais
        ? { type: 'refusal', refusal: text }
        : { type: 'output_text', text, annotations: [] }
    }
    if (part.type !== 'text' || part.text === '') return undefined
    if (part.cache !== undefined) this.#losses.add('cacheMark')
    const annotations = part.citations.flatMap(({ wire }): JsonObject[] =>
      wire?.format === FORMAT ? [wire.value] : [],
    )
    if (annotations.length < part.citations.length) this.#losses.add('citations')
    return { type: 'output_text', text: part.text, annotations }
  }

  /**
   * Only its maker can read a sealed one, and only in front of what it led to. One in words goes back within a tool loop, and
   * there always, so that the prompt's bytes stay the same from turn to turn.
   * @param leads whether anything is said behind it in the turn
   */
  #reasoning(part: ReasoningPart, leads: boolean, isCalling: boolean): void {
    const encrypted = signatureFor(part.signature, FORMAT, this.#options.target.vendor)
    if (encrypted === undefined && isCalling && this.#options.takesWords) return this.#words(part)
    if (encrypted === undefined || !leads) return this.#losses.add('reasoningHistory')
    const texts = part.texts.map(text => ({ type: part.raw ? 'reasoning_text' : 'summary_text', text }))
    this.#items.push(
      present({
        type: 'reasoning',
        id: part.id,
        summary: part.raw ? [] : texts,
        content: part.raw ? texts : undefined,
        encrypted_content: encrypted,
      }),
    )
  }

  /** Some servers want an id, and read one text alone. */
  #words({ texts, redacted }: ReasoningPart): void {
    const text = texts.filter(one => one !== '').join('\n\n')
    if (redacted) return this.#losses.add('reasoningHistory')
    if (text === '') return
    const id = this.#ids.take(`rs_${hashOf(text)}`)
    this.#items.push({ type: 'reasoning', id, summary: [], content: [{ type: 'reasoning_text', text }] })
  }

  #call(part: ToolCallPart): void {
    if (part.cache !== undefined) this.#losses.add('cacheMark')
    // Calls of a type of their own were lowered with their tools; one left over can still be told as a function.
    const kind = part.kind === 'custom' ? 'custom' : 'function'
    const input = kind === 'custom' ? part.input : argumentsText(kind, part.input, this.#isOpenais)
    const { status: _status, ...item } = encodeCall({ ...part, kind, input }, undefined, 'completed')
    this.#items.push(item)
  }

  #output(part: ToolResultPart): void {
    const type = part.kind === 'custom' ? 'custom_tool_call_output' : 'function_call_output'
    const content = withMark(part.isError ? tellFailure(part.content) : part.content, part.cache)
    const texts = content.filter(piece => piece.type === 'text')
    const isMarked = content.some(piece => piece.cache !== undefined)
    const plain = texts.length === content.length && !(isMarked && this.#options.cacheBreakpoints)
    // An empty result has no part for its mark.
    if (plain && (isMarked || part.cache !== undefined)) this.#losses.add('cacheMark')
    const output = plain
      ? texts.map(text => text.text).join('\n')
      : content.map(piece => (piece.type === 'text' ? this.#inputText(piece) : this.#media(piece)))
    this.#items.push({ type, call_id: part.callId, output })
  }

  #opaque(part: Extract<Part, { type: 'opaque' }>): void {
    const item = part.format === FORMAT ? itemOf(part.value) : undefined
    if (item === undefined) this.#losses.add('extension', part.name)
    else this.#items.push(item)
  }

  /** An image that the model made. Anything else it made has no item. */
  #image(part: MediaPart): void {
    if (part.kind !== 'image' || part.source.type !== 'base64') return this.#losses.add('media')
    if (part.cache !== undefined) this.#losses.add('cacheMark')
    const { data } = part.source
    const id = this.#ids.take(`ig_${hashOf(data)}`)
    this.#items.push({ type: 'image_generation_call', id, status: 'completed', result: data })
  }

  #inputText(part: TextPart): JsonObject {
    return { type: 'input_text', text: part.text, ...this.#cacheMark(part.cache) }
  }

  #media(part: MediaPart): JsonObject {
    return { ...encodeMedia(part, this.#isOpenais, this.#losses), ...this.#cacheMark(part.cache) }
  }

  #cacheMark(mark: TextPart['cache']): JsonObject {
    if (mark === undefined) return {}
    if (this.#options.cacheBreakpoints) return cacheBreakpoint(mark)
    this.#losses.add('cacheMark')
    return {}
  }
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex').slice(0, 32)
}

/** A turn with what it says before what it calls. */
function callsLast(parts: readonly Part[]): Part[] {
  const { calls = [], said = [] } = Object.groupBy(parts, ({ type }) =>
    type === 'tool-call' ? 'calls' : 'said',
  )
  return [...said, ...calls]
}

/** Whether a part of the assistant's, beside its thoughts, is one that this format has an item for. */
function isSaid(part: Part): boolean {
  switch (part.type) {
    case 'reasoning':
      return false
    case 'opaque':
      return part.format === FORMAT && itemOf(part.value) !== undefined
    case 'media':
      return part.kind === 'image' && part.source.type === 'base64'
    default:
      return !isEmptyText(part)
  }
}

function isEmptyText(part: Part): boolean {
  return (part.type === 'text' || part.type === 'refusal') && part.text === ''
}
