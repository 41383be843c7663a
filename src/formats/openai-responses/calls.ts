import { inputText } from '@/formats/tools/call-input.ts'
import type { ToolCallKind, ToolCallPart } from '@/generation/part.ts'
import {
  asArray,
  asNonEmpty,
  asObject,
  asString,
  type JsonObject,
  keysOf,
  parseObject,
  present,
  withoutNulls,
} from '@/json/json.ts'
import type { ItemStatus, OutputItemType } from './wire.ts'

/** What of a tool call its item is made of. */
export type ToolCall = Pick<ToolCallPart, 'kind' | 'callId' | 'name' | 'namespace' | 'input'>

/** How each kind of call is written as an item. `input` is the key that holds what the tool is given. */
const CALL_ITEMS = {
  function: { type: 'function_call', input: 'arguments' },
  custom: { type: 'custom_tool_call', input: 'input' },
  local_shell: { type: 'local_shell_call', input: 'action' },
  shell: { type: 'shell_call', input: 'action' },
  apply_patch: { type: 'apply_patch_call', input: 'operation' },
  tool_search: { type: 'tool_search_call', input: 'arguments' },
  computer: { type: 'computer_call', input: 'action' },
} as const satisfies Record<ToolCallKind, { type: OutputItemType; input: string }>

const KIND_OF_ITEM = new Map<string, ToolCallKind>(
  keysOf(CALL_ITEMS).map(kind => [CALL_ITEMS[kind].type, kind]),
)

/**
 * The kind of call that an item is: one the client executes.
 * @returns undefined for items that are no calls, and for a tool search that the vendor's server runs.
 */
export function callKind(item: JsonObject): ToolCallKind | undefined {
  const kind = KIND_OF_ITEM.get(asString(item['type']) ?? '')
  return kind === 'tool_search' && item['execution'] === 'server' ? undefined : kind
}

/** The id that links a call to its output. Copilot and old local shells give none but the item's own. */
export function linkOf(item: JsonObject): string | undefined {
  return asNonEmpty(item['call_id']) ?? asNonEmpty(item['id'])
}

/** What the tool is given, as the neutral model has it: JSON text, and free text for custom tools. */
export function callInput(item: JsonObject, kind: ToolCallKind): string {
  if (kind === 'computer' && item['action'] === undefined && item['actions'] !== undefined) {
    return JSON.stringify({ actions: item['actions'] })
  }
  return inputText(item[CALL_ITEMS[kind].input])
}

/** What the tool of an earlier turn was given: a shell's as the model made it, where it had a function in its place. */
export function pastInput(item: JsonObject, kind: ToolCallKind): string {
  const action = kind === 'local_shell' || kind === 'shell' ? asObject(item['action']) : undefined
  return action === undefined ? callInput(item, kind) : JSON.stringify(shellInput(action))
}

/** A shell's action in the words of its declaration (tools/client-schemas.ts), without what `encodeCall` fills in. */
function shellInput(action: JsonObject): JsonObject {
  const { type: _type, command, working_directory: workdir, env, ...said } = withoutNulls(action)
  const isEmpty = Object.keys(asObject(env) ?? {}).length === 0
  return present({ command, workdir, ...said, env: isEmpty ? undefined : env })
}

/** The name by which the model calls the tool; the typed kinds have only one tool each. */
export function callName(item: JsonObject, kind: ToolCallKind): string {
  return kind === 'function' || kind === 'custom' ? (asString(item['name']) ?? '') : kind
}

/**
 * A call as an item. Input that is not the JSON its kind wants is still written, in the nearest shape, since a
 * client that gets no call falls silent.
 */
export function encodeCall(call: ToolCall, id: string | undefined, status: ItemStatus): JsonObject {
  const head = present({ id, type: CALL_ITEMS[call.kind].type, status })
  const link = { call_id: call.callId }
  const group = present({ namespace: call.namespace })
  switch (call.kind) {
    case 'function':
      return { ...head, arguments: call.input, ...link, name: call.name, ...group }
    case 'custom':
      return { ...head, ...link, input: call.input, name: call.name, ...group }
    case 'local_shell':
      return { ...head, ...link, action: localShellAction(call.input) }
    case 'shell':
      return { ...head, ...link, action: shellAction(call.input), environment: null }
    case 'apply_patch':
      return { ...head, ...link, operation: patchOperation(call.input), status: withoutIncomplete(status) }
    case 'tool_search':
      return { ...head, ...link, execution: 'client', arguments: parseObject(call.input) ?? {} }
    case 'computer':
      return { ...head, ...link, ...computerActions(call.input), pending_safety_checks: [] }
    default:
      return call.kind satisfies never
  }
}

function localShellAction(input: string): JsonObject {
  const { command, workdir, ...given } = parseObject(input) ?? { command: input }
  return {
    env: {},
    ...present({ working_directory: workdir }),
    ...given,
    type: 'exec',
    command: typeof command === 'string' && command !== '' ? ['bash', '-lc', command] : asArray(command),
  }
}

function shellAction(input: string): JsonObject {
  const { commands, ...given } = parseObject(input) ?? { commands: input }
  return {
    max_output_length: null,
    timeout_ms: null,
    ...given,
    commands: typeof commands === 'string' && commands !== '' ? [commands] : asArray(commands),
  }
}

/** A call of this kind is never incomplete at the API, and the AI SDK refuses an answer in which one is. */
function withoutIncomplete(status: ItemStatus): ItemStatus {
  return status === 'incomplete' ? 'in_progress' : status
}

function patchOperation(input: string): JsonObject {
  const given = parseObject(input)
  if (given === undefined) return { type: 'update_file', path: '', diff: input }
  const operation = asObject(given['operation']) ?? given
  // A model may say nothing of what an empty file holds; SDKs refuse the whole answer where the diff is missing.
  return operation['type'] === 'delete_file' ? operation : { ...operation, diff: operation['diff'] ?? '' }
}

function computerActions(input: string): JsonObject {
  const given = parseObject(input) ?? {}
  return Array.isArray(given['actions']) ? { actions: given['actions'] } : { action: given }
}
