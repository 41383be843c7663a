import { asArray, asObject, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { refuse } from '@/simulator/failure.ts'
import { addMedium, addText, type Prompt, type Segment } from '@/simulator/prompt.ts'
import { checkSignature } from '@/simulator/script/signature.ts'

/** A turn after the vendor's merging of neighbours with the same role. */
interface Turn {
  role: 'user' | 'assistant' | 'system'
  blocks: { block: JsonObject; path: string }[]
}

/** Checks and reads `messages`. */
export function readTurns(body: JsonObject, prompt: Prompt, version: string, thinks: boolean): void {
  const turns = mergeTurns(body['messages'])
  let unanswered: string[] = []
  const known = new Set<string>()
  for (const turn of turns) {
    checkResults(turn, new Set(unanswered))
    unanswered = turn.role === 'system' ? unanswered : []
    for (const { block, path } of turn.blocks) {
      readBlock(block, path, turn.role, prompt, version)
      if (block['type'] === 'tool_use') unanswered.push(readToolUse(block, path, known))
    }
    readMeaning(turn, prompt)
  }
  if (unanswered.length > 0) refuseUnanswered(unanswered, turns.length)
  checkLastTurns(turns, thinks)
}

function mergeTurns(value: JsonValue | undefined): Turn[] {
  if (value === undefined) refuse('messages: Field required')
  if (!Array.isArray(value)) return refuse('messages: Input should be a valid list')
  if (value.length === 0) refuse('messages: at least one message is required')
  const turns: Turn[] = []
  for (const [index, entry] of value.entries()) {
    const message = asObject(entry) ?? refuse(`messages.${index}: Input should be a valid dictionary`)
    const role = message['role']
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      return refuse(`messages.${index}.role: Input should be 'user' or 'assistant'`)
    const blocks = blocksOf(
      message['content'],
      `messages.${index}`,
      index === value.length - 1 && role === 'assistant',
    )
    const last = turns.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    else turns.push({ role, blocks })
  }
  return turns
}

function blocksOf(content: JsonValue | undefined, path: string, mayBeEmpty: boolean): Turn['blocks'] {
  if (content === undefined) refuse(`${path}.content: Field required`)
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  if (!Array.isArray(blocks)) return refuse(`${path}.content: Input should be a valid list`)
  const empty = blocks.length === 0 || (typeof content === 'string' && content === '')
  if (empty && !mayBeEmpty)
    refuse(
      `${path}: all messages must have non-empty content except for the optional final assistant message`,
    )
  if (empty) return []
  return blocks.map((block, index) => {
    const where = `${path}.content.${index}`
    return { block: asObject(block) ?? refuse(`${where}: Input should be a valid dictionary`), path: where }
  })
}

/** Every call of the turn before must be answered at the start of this one, and nothing else may be answered. */
function checkResults(turn: Turn, unanswered: ReadonlySet<string>): void {
  if (turn.role === 'system') return
  const answered = new Set<string>()
  const repeated = new Set<string>()
  for (const { block } of turn.blocks) {
    if (block['type'] !== 'tool_result') break
    const id = asString(block['tool_use_id']) ?? ''
    if (answered.has(id)) repeated.add(id)
    answered.add(id)
  }
  const missing = [...unanswered].filter(id => !answered.has(id))
  if (missing.length > 0) refuseUnanswered(missing, undefined)
  for (const { block, path } of turn.blocks) {
    if (block['type'] !== 'tool_result') continue
    const id = asString(block['tool_use_id']) ?? refuse(`${path}.tool_result.tool_use_id: Field required`)
    if (!unanswered.has(id)) {
      refuse(
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    }
    if (repeated.has(id))
      refuse(
        `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      )
  }
}

function refuseUnanswered(ids: string[], turn: number | undefined): never {
  const where = turn === undefined ? 'messages' : `messages.${turn - 1}`
  return refuse(
    `${where}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  )
}

const KINDS = {
  user: [
    'text',
    'image',
    'document',
    'search_result',
    'tool_result',
    'container_upload',
    'mcp_tool_result',
    'web_search_tool_result',
  ],
  assistant: [
    'text',
    'document',
    'thinking',
    'redacted_thinking',
    'tool_use',
    'server_tool_use',
    'web_search_tool_result',
    'web_fetch_tool_result',
    'code_execution_tool_result',
    'bash_code_execution_tool_result',
    'text_editor_code_execution_tool_result',
    'tool_search_tool_result',
    'mcp_tool_use',
    'mcp_tool_result',
    'mcp_tool_listing',
    'advisor_tool_result',
    'container_upload',
    'compaction',
    'fallback',
  ],
  system: ['text', 'tool_addition', 'tool_removal'],
}

function readBlock(
  block: JsonObject,
  path: string,
  role: Turn['role'],
  prompt: Prompt,
  version: string,
): void {
  const type = asString(block['type']) ?? refuse(`${path}.type: Field required`)
  if (!KINDS[role].includes(type))
    refuse(
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags for role ${role}`,
    )
  const mark = markOf(block)
  switch (type) {
    case 'text':
      addText(prompt, readText(block, path, role, version), mark)
      return
    case 'image':
      checkImage(block, path)
      addMedium(prompt, mark)
      return
    case 'document':
      if (role === 'assistant' && version === '2026-10-21')
        refuse(`${path}: document blocks are not permitted in assistant messages`)
      addMedium(prompt, mark)
      return
    case 'thinking':
    case 'redacted_thinking':
      checkThinking(block, path)
      return
    case 'tool_result':
      prompt.segments.push({ text: resultText(block, path), media: countMedia(block['content']), mark })
      return
    default:
      addText(prompt, JSON.stringify({ ...block, cache_control: undefined }), mark)
  }
}

function readText(block: JsonObject, path: string, role: Turn['role'], version: string): string {
  const text = asString(block['text']) ?? refuse(`${path}.text.text: Field required`)
  if (text === '') refuse('messages: text content blocks must be non-empty')
  if (text.trim() === '' && role !== 'system')
    refuse('messages: text content blocks must contain non-whitespace text')
  if (role === 'user' && version === '2026-10-21' && asArray(block['citations']).length > 0)
    refuse(`${path}.text.citations: Extra inputs are not permitted`)
  return text
}

/** The time to live of a block's cache mark. */
export function markOf(block: JsonObject): Segment['mark'] {
  const control = asObject(block['cache_control'])
  if (control === undefined) return undefined
  return control['ttl'] === '1h' ? '1h' : '5m'
}

function checkImage(block: JsonObject, path: string): void {
  const source = asObject(block['source']) ?? refuse(`${path}.image.source: Field required`)
  if (source['type'] !== 'base64') return
  const accepted = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
  if (!accepted.includes(asString(source['media_type']) ?? ''))
    refuse(
      `${path}.image.source.base64.media_type: Input should be ${accepted.map(type => `'${type}'`).join(', ')}`,
    )
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(asString(source['data']) ?? ''))
    refuse(`${path}.image.source.base64.data: The string is not valid base64`)
}

function checkThinking(block: JsonObject, path: string): void {
  const redacted = block['type'] === 'redacted_thinking'
  const field = redacted ? 'data' : 'signature'
  const signature = asString(block[field]) ?? refuse(`${path}.${block['type']}.${field}: Field required`)
  const text = redacted
    ? undefined
    : (asString(block['thinking']) ?? refuse(`${path}.thinking.thinking: Field required`))
  switch (checkSignature('anthropic-messages', signature, text)) {
    case 'foreign':
      return refuse(`${path}: Invalid \`${field}\` in \`${block['type']}\` block`)
    case 'altered':
      return refuse(
        `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
      )
    default:
  }
}

function readToolUse(block: JsonObject, path: string, known: Set<string>): string {
  const id = asString(block['id']) ?? refuse(`${path}.tool_use.id: Field required`)
  if (!/^[a-zA-Z0-9_-]+$/.test(id))
    refuse(`${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  if (known.has(id)) refuse('messages: `tool_use` ids must be unique')
  known.add(id)
  const name = asString(block['name']) ?? refuse(`${path}.tool_use.name: Field required`)
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name))
    refuse(`${path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  if (!isJsonObject(block['input'])) refuse(`${path}.tool_use.input: Input should be a valid dictionary`)
  return id
}

const RESULT_KINDS = ['text', 'image', 'document', 'search_result', 'tool_reference']

function resultText(block: JsonObject, path: string): string {
  const content = block['content']
  if (content === undefined) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return refuse(`${path}.tool_result.content: Input should be a valid list`)
  const texts: string[] = []
  for (const [index, value] of content.entries()) {
    const where = `${path}.tool_result.content.${index}`
    const part = asObject(value) ?? refuse(`${where}: Input should be a valid dictionary`)
    if (!RESULT_KINDS.includes(asString(part['type']) ?? ''))
      refuse(`${where}: Input tag '${asString(part['type'])}' does not match any of the expected tags`)
    if (part['type'] === 'image') checkImage(part, where)
    if (part['type'] === 'text') texts.push(readText(part, where, 'system', ''))
  }
  return texts.join('\n')
}

function countMedia(content: JsonValue | undefined): number {
  return asArray(content).filter(part => isJsonObject(part) && part['type'] !== 'text').length
}

function readMeaning({ role, blocks }: Turn, prompt: Prompt): void {
  if (role === 'system') return
  const results = blocks.filter(({ block }) => block['type'] === 'tool_result')
  prompt.toolResults = results.map(({ block, path }) => resultText(block, path))
  const texts = blocks.flatMap(({ block }) => asString(block['text']) ?? [])
  if (role === 'user' && texts.length > 0) prompt.lastUserText = texts.join('\n')
}

/** Rules for the last assistant turn: its thinking comes first, and text to be continued neither thinks nor ends in blanks. */
function checkLastTurns(turns: Turn[], thinks: boolean): void {
  const last = turns.at(-1)
  if (last?.role === 'assistant') {
    if (thinks)
      refuse('messages: When thinking is enabled, the final message must not be from the assistant.')
    const text = asString(last.blocks.at(-1)?.block['text'])
    if (text !== undefined && text !== text.trimEnd())
      refuse('messages: final assistant content cannot end with trailing whitespace')
  }
  if (!thinks) return
  const assistants = turns.filter(turn => turn.role === 'assistant')
  const usesTool = assistants.at(-1)?.blocks.some(({ block }) => block['type'] === 'tool_use') === true
  const first = beginningOfLoop(turns)?.blocks[0]
  if (!usesTool || first === undefined || isThinking(first.block)) return
  // Histories without any thinking are taken as they are: the talk may have begun with another model.
  if (!assistants.some(turn => turn.blocks.some(({ block }) => isThinking(block)))) return
  refuse(
    `${first.path}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${asString(first.block['type'])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  )
}

/** Where the assistant began that is at work since the user's last word; between calls it need not think again. */
function beginningOfLoop(turns: Turn[]): Turn | undefined {
  const lastWord = turns.findLastIndex(
    ({ role, blocks }) => role === 'user' && blocks.every(({ block }) => block['type'] !== 'tool_result'),
  )
  return turns.slice(lastWord + 1).find(turn => turn.role === 'assistant')
}

function isThinking(block: JsonObject | undefined): boolean {
  return block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking'
}
