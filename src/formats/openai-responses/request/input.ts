import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { callKind, callName, linkOf, pastInput } from '@/formats/openai-responses/calls.ts'
import { decodeContent } from '@/formats/openai-responses/content.ts'
import { decodeImageCall, decodeReasoning } from '@/formats/openai-responses/items.ts'
import { FORMAT } from '@/formats/openai-responses/wire.ts'
import { resultInWords } from '@/formats/tools/results.ts'
import {
  type Part,
  type ReasoningPart,
  type TextPart,
  type ToolCallKind,
  type ToolCallPart,
  type ToolResultPart,
  textPart,
} from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import type { Tool } from '@/generation/tool.ts'
import { asArray, asNonEmpty, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { decodeOutput, outputKind } from './tool-output.ts'
import { decodeTools } from './tools.ts'

/** What the `input` of a request holds. */
interface Input {
  /** System and developer messages before anything else. */
  instructions: TextPart[]
  turns: Turn[]
  /** Tools brought by `additional_tools` and `tool_search_output` items, in order. */
  tools: Tool[]
}

/**
 * Reads `input`: a string is one user message, else a list of items. What the assistant wrote becomes one assistant
 * turn, neighbouring outputs one user turn, every user message a turn of its own.
 * @param path where it stands, for complaints
 * @throws GatewayError `invalid_request` naming the item that breaks the format's rules.
 */
export function decodeInput(wire: JsonValue | undefined, path: 'input' | 'instructions'): Input {
  const reader = new InputReader()
  if (typeof wire === 'string') reader.add('user', [textPart(wire)])
  else
    for (const [index, value] of asArray(wire).entries())
      reader.read(asObject(value) ?? {}, `${path}[${index}]`)
  return reader
}

class InputReader implements Input {
  readonly instructions: TextPart[] = []
  readonly turns: { role: Turn['role']; parts: Part[] }[] = []
  readonly tools: Tool[] = []
  /** The kind of each call so far: Codex answers a local shell call with a function_call_output. */
  readonly #kinds = new Map<string, ToolCallKind>()
  #endsInResult = false

  read(item: JsonObject, path: string): void {
    const type = asString(item['type']) ?? impliedType(item, path)
    const kind = callKind(item)
    if (kind !== undefined) return this.#call(item, kind, path)
    const answered = outputKind(type)
    if (answered !== undefined) return this.#result(item, answered, path)
    switch (type) {
      case 'message':
        return this.#message(item, path)
      case 'reasoning':
        return this.#reasoning(item)
      case 'additional_tools':
        this.tools.push(...decodeTools(item['tools'], `${path}.tools`))
        return
      case 'tool_search_output':
        return this.#toolSearchOutput(item, path)
      case 'agent_message':
        return this.#agentMessage(item, type)
      case 'image_generation_call':
        return this.add('assistant', [decodeImageCall(item)])
      case 'configuration_update':
        // Read by configuration.ts.
        return
      case 'item_reference':
        return checkReference(item, path)
      default:
        return this.#opaque(item, type)
    }
  }

  /** What the assistant says joins what it said right before; anything else is a turn of its own. */
  add(role: Turn['role'], parts: Part[]): void {
    const last = this.turns.at(-1)
    if (role === 'assistant' && last?.role === role) last.parts.push(...parts)
    else this.turns.push({ role, parts })
    this.#endsInResult = false
  }

  /** A result joins those right before it. */
  #addResult(result: ToolResultPart): void {
    const last = this.turns.at(-1)
    if (this.#endsInResult && last !== undefined) last.parts.push(result)
    else this.turns.push({ role: 'user', parts: [result] })
    this.#endsInResult = true
  }

  #message(item: JsonObject, path: string): void {
    const role = asString(item['role'])
    if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer') {
      throw invalidRequest(`${path}.role`, 'expected user, assistant, system or developer')
    }
    const parts = messageParts(item, role, path)
    if (role === 'user' || role === 'assistant') return this.add(role, parts)
    const texts = parts.filter(part => part.type === 'text')
    if (this.turns.length === 0) this.instructions.push(...texts)
    else this.add('system', texts)
  }

  #reasoning(item: JsonObject): void {
    const part = decodeReasoning(item, undefined)
    if (part === undefined) return
    const call = isSeal(part) ? this.#answeredTurn() : undefined
    if (call === undefined) this.add('assistant', [part])
    else call.parts.push(part)
  }

  /** The assistant's turn that ends in the call whose result was read last. */
  #answeredTurn(): { parts: Part[] } | undefined {
    const turn = this.#endsInResult ? this.turns.at(-2) : undefined
    return turn?.role === 'assistant' && turn.parts.at(-1)?.type === 'tool-call' ? turn : undefined
  }

  #call(item: JsonObject, kind: ToolCallKind, path: string): void {
    const callId = linkOf(item)
    if (callId === undefined) throw invalidRequest(`${path}.call_id`, 'expected string')
    const name = callName(item, kind)
    if (name === '') throw invalidRequest(`${path}.name`, 'expected string')
    const call: ToolCallPart = {
      type: 'tool-call',
      kind,
      callId,
      name,
      namespace: asString(item['namespace']),
      input: pastInput(item, kind),
      signature: undefined,
      cache: undefined,
    }
    this.#kinds.set(callId, kind)
    this.add('assistant', [call])
  }

  #result(item: JsonObject, kind: ToolCallKind, path: string): void {
    const callId = linkOf(item)
    if (callId !== undefined)
      return this.#addResult(decodeOutput(item, callId, this.#kinds.get(callId) ?? kind))
    const name = kind === 'function' ? asNonEmpty(item['name']) : undefined
    if (name === undefined) throw invalidRequest(`${path}.call_id`, 'expected string')
    this.#unasked(item, name)
  }

  /** What a function told without having been called, which OpenAI takes by its name. */
  #unasked(item: JsonObject, name: string): void {
    const tool = groupedName(asNonEmpty(item['namespace']), name)
    this.add('user', [...resultInWords(`tool ${tool}`, decodeOutput(item, '', 'function'))])
  }

  /** Its tools join the request's; the call that asked for them gets a short answer. */
  #toolSearchOutput(item: JsonObject, path: string): void {
    const tools = decodeTools(item['tools'], `${path}.tools`)
    this.tools.push(...tools)
    const callId = asString(item['call_id'])
    if (callId === undefined || item['execution'] === 'server') return
    const names = tools.map(announcedName)
    const text = names.length === 0 ? 'No tools found.' : `Tools now available: ${names.join(', ')}`
    this.#addResult(decodeOutput({ output: text }, callId, 'tool_search'))
  }

  /** What one of Codex' agents tells another; sealed it is for OpenAI's models alone. */
  #agentMessage(item: JsonObject, type: string): void {
    const text = openWords(item['content'])
    if (text === '') this.#opaque(item, type)
    else this.add('user', [textPart(text)])
  }

  #opaque(item: JsonObject, type: string): void {
    const ours = type.endsWith('_output') || type.endsWith('_response') || USER_ITEMS.has(type)
    this.add(ours ? 'user' : 'assistant', [{ type: 'opaque', format: FORMAT, name: type, value: item }])
  }
}

/**
 * Whether it is the signature of the call before it (`stream-encode.ts`). A client that writes each result right behind
 * its call has the result in between, and the model would seem to have thought on.
 */
function isSeal({ redacted, signature }: ReasoningPart): boolean {
  return redacted && signature?.format === 'gemini-generate-content'
}

/**
 * A message between agents in plain words; empty where a part of it is not. Codex calls encrypted whatever a model
 * wrote for another agent, and only OpenAI seals it: https://github.com/MetaFARS/codex-relay/issues/60
 */
function openWords(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content
  const texts = asArray(content).map(part => {
    const { text, encrypted_content } = asObject(part) ?? {}
    return asString(text) ?? asString(encrypted_content)
  })
  return texts.every(text => text !== undefined && !SEALED.test(text)) ? texts.join('') : ''
}

const SEALED = /^gAAAA[\w-]+=*$/

/** Items without a counterpart elsewhere that the client, not the model, wrote. */
const USER_ITEMS: ReadonlySet<string> = new Set(['compaction_trigger', 'agent_message'])

function announcedName(tool: Tool): string {
  if (tool.type === 'hosted') return tool.wireType
  return tool.type === 'client' ? tool.name : groupedName(tool.namespace, tool.name)
}

/** The name under which the model finds the tool where namespaces are part of the name (tools/names.ts). */
function groupedName(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}__${name}`
}

function impliedType(item: JsonObject, path: string): string {
  if (item['role'] !== undefined) return 'message'
  if (typeof item['id'] === 'string' && item['content'] === undefined) return 'item_reference'
  throw invalidRequest(`${path}.type`, 'expected string')
}

function messageParts(item: JsonObject, role: string, path: string): Part[] {
  const { content, phase } = item
  if (typeof content === 'string') {
    const whole = decodeContent({ type: 'text', text: content }, phase)
    return whole === undefined ? [] : [whole]
  }
  if (!Array.isArray(content)) throw invalidRequest(`${path}.content`, 'expected string or array')
  return content.map((value, index): Part => {
    const wire = asObject(value)
    if (wire === undefined) throw invalidRequest(`${path}.content[${index}]`, 'expected object')
    const part = decodeContent(wire, phase)
    if (part !== undefined) return part
    if (isMedia(wire)) throw invalidRequest(`${path}.content[${index}]`, 'has no data, URL or file id')
    const type = asString(wire['type']) ?? 'content'
    // As an item, so that an opaque part always is one.
    return {
      type: 'opaque',
      format: FORMAT,
      name: type,
      value: { type: 'message', role, content: [wire] },
    }
  })
}

function isMedia(part: JsonObject): boolean {
  return part['type'] === 'input_image' || part['type'] === 'input_file' || part['type'] === 'input_audio'
}

/**
 * The AI SDK replays reasoning as references even to a gateway that stores nothing; without it the answer is only
 * a little worse. A message or call that is missing would change the conversation.
 */
function checkReference(item: JsonObject, path: string): void {
  if (asString(item['id'])?.startsWith('rs_') === true) return
  throw unsupported(path, 'refers to an item that is not stored here: send the item itself')
}
