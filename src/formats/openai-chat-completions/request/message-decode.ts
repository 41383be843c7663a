import { invalidRequest } from '@/formats/invalid.ts'
import { orCall, orResult } from '@/formats/openai-chat-completions/anthropic-words.ts'
import {
  cacheMark,
  decodeContent,
  decodeResult,
  decodeTexts,
  imagePart,
  opaquePart,
} from '@/formats/openai-chat-completions/content-decode.ts'
import { customCallIn, hostedCallType, legacyCallIn } from '@/formats/openai-chat-completions/empty.ts'
import { returnedSignature } from '@/formats/openai-chat-completions/thought-signature.ts'
import { inputText } from '@/formats/tools/call-input.ts'
import { canBeMarked, withMark } from '@/formats/tools/results.ts'
import {
  type CacheMark,
  type Part,
  type TextPart,
  type ToolCallKind,
  type ToolCallPart,
  type ToolResultPart,
  textPart,
} from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { decodeReasoningHistory } from './reasoning-decode.ts'

/** The conversation in turns, with the system text at its head apart. */
type Conversation = Pick<GenerationRequest, 'instructions' | 'turns'>

/** Reads `messages`. @param mark that of the whole request, which is its last part's */
export function decodeMessages(messages: readonly JsonValue[], mark: CacheMark | undefined): Conversation {
  const reader = new MessageReader()
  for (const [index, message] of messages.entries()) {
    reader.push(asObject(message) ?? {}, `messages[${index}]`)
  }
  const conversation = reader.conversation()
  return mark === undefined ? conversation : markedAtEnd(conversation, mark)
}

function markedAtEnd({ instructions, turns }: Conversation, mark: CacheMark): Conversation {
  const at = turns.findLastIndex(({ parts }) => parts.some(canBeMarked))
  const last = turns[at]
  if (last === undefined) return { instructions: withMark(instructions, mark), turns }
  return { instructions, turns: turns.with(at, { ...last, parts: withMark(last.parts, mark) }) }
}

class MessageReader {
  readonly #instructions: TextPart[] = []
  readonly #turns: { role: Turn['role']; parts: readonly Part[] }[] = []
  /** How each call so far is to be answered. */
  readonly #kinds = new Map<string, ToolCallKind>()
  #legacyCalls = 0
  /** The results that the next `tool` message joins; undefined after any other message. */
  #results: Part[] | undefined

  conversation(): Conversation {
    return { instructions: this.#instructions, turns: this.#turns }
  }

  push(message: JsonObject, path: string): void {
    const role = message['role']
    if (role === 'tool' || role === 'function') return this.#pushResult(message, path)
    this.#results = undefined
    // LiteLLM, and agents that stand on it, mark messages as a whole.
    const mark = cacheMark(message)
    if (role === 'system' || role === 'developer') {
      const texts = withMark(decodeTexts(message['content'], `${path}.content`), mark)
      if (this.#turns.length === 0) this.#instructions.push(...texts)
      else this.#turns.push({ role: 'system', parts: texts })
    } else if (role === 'assistant') {
      this.#turns.push({ role, parts: withMark(this.#assistantParts(message, path), mark) })
    } else {
      const place = `${path}.content`
      const parts = decodeContent(message['content'], place).map(part => orResult(part, place))
      this.#turns.push({ role: 'user', parts: withMark(parts, mark) })
    }
  }

  #pushResult(message: JsonObject, path: string): void {
    const callId = message['role'] === 'function' ? this.#legacyId() : asString(message['tool_call_id'])
    if (callId === undefined) throw invalidRequest(`${path}.tool_call_id`, 'required')
    const result: ToolResultPart = {
      type: 'tool-result',
      kind: this.#kinds.get(callId) ?? 'function',
      callId,
      name: asString(message['name']),
      content: decodeResult(message['content'], `${path}.content`),
      isError: false,
      cache: cacheMark(message),
    }
    if (this.#results === undefined) {
      this.#results = []
      this.#turns.push({ role: 'user', parts: this.#results })
    }
    this.#results.push(result)
  }

  #assistantParts(message: JsonObject, path: string): Part[] {
    const parts = decodeReasoningHistory(message)
    const calls = asArray(message['tool_calls'])
    const content = decodeContent(withoutThinking(message['content']), `${path}.content`)
    // Beside calls of this format, blocks say the same again.
    parts.push(...(calls.length > 0 ? content : content.map(part => orCall(part, `${path}.content`))))
    signText(parts, message)
    const refusal = asString(message['refusal'])
    if (refusal !== undefined && refusal !== '') parts.push({ type: 'refusal', text: refusal })
    for (const image of asArray(message['images'])) parts.push(signedImage(image))
    // A spoken answer of before, by an id that only its vendor knows.
    const audio = asObject(message['audio'])
    if (audio !== undefined) parts.push(opaquePart('audio', audio))
    for (const [index, value] of calls.entries()) {
      const call = asObject(value) ?? {}
      // What is in one of the vendor's own is unread, and so a loss.
      if (hostedCallType(call) !== undefined) continue
      parts.push(this.#call(call, `${path}.tool_calls[${index}]`))
    }
    const legacy = legacyCallIn(message)
    if (legacy !== undefined) {
      this.#legacyCalls += 1
      parts.push(this.#call({ id: this.#legacyId(), function: legacy }, `${path}.function_call`))
    }
    return parts
  }

  #call(call: JsonObject, path: string): ToolCallPart {
    const custom = customCallIn(call)
    const body = custom ?? asObject(call['function'])
    const callId = asString(call['id'])
    if (body === undefined) throw invalidRequest(`${path}.function`, 'required')
    if (callId === undefined) throw invalidRequest(`${path}.id`, 'required')
    const kind = custom === undefined ? 'function' : 'custom'
    this.#kinds.set(callId, kind)
    return {
      type: 'tool-call',
      kind,
      callId,
      name: asString(body['name']) ?? '',
      namespace: undefined,
      input: inputText(custom === undefined ? body['arguments'] : custom['input']),
      signature: returnedSignature(call),
      cache: undefined,
    }
  }

  /** Legacy calls have no ids: they are counted, and a result belongs to the last call before it. */
  #legacyId(): string {
    return `call_function_${this.#legacyCalls}`
  }
}

/** Mistral's thinking parts are read with the reasoning. */
function withoutThinking(content: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(content)) return content
  return content.filter(part => asObject(part)?.['type'] !== 'thinking')
}

/** A thought signature on the message belongs to its last text, or stands for an empty one. */
function signText(parts: Part[], message: JsonObject): void {
  const signature = returnedSignature(message)
  if (signature === undefined) return
  const at = parts.findLastIndex(part => part.type === 'text')
  const text = parts[at]
  if (text?.type === 'text') parts[at] = { ...text, signature }
  else parts.push({ ...textPart(''), signature })
}

/** An image of an earlier answer, as it was told. */
function signedImage(image: JsonValue): Part {
  const holder = asObject(image)
  const part = imagePart(holder)
  if (part === undefined || holder === undefined) return opaquePart('images', image)
  return { ...part, signature: returnedSignature(holder) }
}
