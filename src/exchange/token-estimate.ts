import { asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { PLAIN_TEXTS, type Texts } from '@/json/outline.ts'

/**
 * Tokens of a prompt by rule of thumb, read from a request body of any format: a quarter of the text's UTF-8 bytes
 * (4 characters of Latin text, 1.3 of CJK), a few for each turn, a fixed cost for each image or file. No tokenizer:
 * those take seconds for texts that were made to hurt them. Linear in the body, and a body of very many values is
 * judged by its size alone. Good for context meters and not an upper bound.
 *
 * @param bytes the length of the body's JSON text
 * @param texts what the body's strings stand for, where it is an outline
 */
export function estimateTokens(body: JsonObject, bytes: number, texts: Texts = PLAIN_TEXTS): number {
  const tally = { textBytes: 0, fixedTokens: 0, texts }
  const waiting: Piece[] = PROMPT_FIELDS.map(name => ({ value: own(body, name), isData: false }))
  for (let left = MAX_PIECES; left > 0; left -= 1) {
    const piece = waiting.pop()
    if (piece === undefined) return Math.ceil(tally.textBytes / BYTES_PER_TOKEN) + tally.fixedTokens
    if (!weigh(piece, tally, waiting, left)) break
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** The estimate is no upper bound; tokenizers differ by about a third on text that is no English. */
export function withMargin(tokens: number): number {
  return Math.ceil(tokens * 1.35) + 64
}

/**
 * Tokens of all texts in a value, by the same rule; a number is a token by itself. For what is no conversation: names
 * and structure count nothing.
 */
export function textTokens(value: JsonValue | undefined): number {
  let bytes = 0
  let numbers = 0
  const waiting = [value]
  for (let next = waiting.pop(); next !== undefined || waiting.length > 0; next = waiting.pop()) {
    if (typeof next === 'string') bytes += Buffer.byteLength(next)
    else if (typeof next === 'number') numbers += 1
    else if (Array.isArray(next)) for (const item of next) waiting.push(item)
    else if (isJsonObject(next)) for (const name in next) waiting.push(next[name])
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN) + numbers
}

const BYTES_PER_TOKEN = 4

/** An image of about a megapixel. Vendors charge 85 to 1600. */
const IMAGE_TOKENS = 1000

/** A sound, a film or a document: they are told apart by their length, which nobody here reads. */
const FILE_TOKENS = 2000

/** What stands around a turn. */
const TURN_TOKENS = 4

/** What stands around a member of a schema or of a call's arguments. */
const MEMBER_BYTES = 4

/** More values than this are not looked at one by one. */
const MAX_PIECES = 50_000

/** Where the prompt is in a body, in the four formats. */
const PROMPT_FIELDS = [
  ...['messages', 'input', 'contents'],
  ...['system', 'instructions', 'systemInstruction', 'system_instruction'],
  ...['tools', 'functions'],
  ...['response_format', 'text', 'output_config', 'output_format', 'generationConfig', 'generation_config'],
]

interface Piece {
  value: JsonValue | undefined
  /** True inside of schemas and arguments, where names are part of the text. */
  isData: boolean
}

interface Tally {
  textBytes: number
  fixedTokens: number
  readonly texts: Texts
}

/** Adds what a value says by itself and puts its children in the queue; false when those are more than `left`. */
function weigh({ value, isData }: Piece, tally: Tally, waiting: Piece[], left: number): boolean {
  if (typeof value === 'string') {
    tally.textBytes += tally.texts.byteLength(value)
  } else if (Array.isArray(value)) {
    if (value.length > left) return false
    for (const item of value) waiting.push({ value: item, isData })
  } else if (isJsonObject(value)) {
    return isData ? weighData(value, tally, waiting, left) : weighBlock(value, tally, waiting, left)
  } else if (isData && value !== undefined) {
    tally.textBytes += String(value).length
  }
  return true
}

function weighData(value: JsonObject, tally: Tally, waiting: Piece[], left: number): boolean {
  let count = 0
  for (const name in value) {
    if (++count > left) return false
    tally.textBytes += Buffer.byteLength(name) + MEMBER_BYTES
    waiting.push({ value: value[name], isData: true })
  }
  return true
}

/** A turn, a part of one, or a tool. */
function weighBlock(value: JsonObject, tally: Tally, waiting: Piece[], left: number): boolean {
  let count = 0
  if (own(value, 'role') !== undefined) tally.fixedTokens += TURN_TOKENS
  for (const name in value) {
    if (++count > left) return false
    const member = value[name]
    if (isMedia(name, member)) tally.fixedTokens += mediaTokens(value, name, member, tally.texts)
    else if (!isSilent(value, name))
      waiting.push({ value: member, isData: DATA.has(name) && isJsonObject(member) })
  }
  return true
}

/** Names whose value is no text of the prompt: ids, marks, state that only its maker can read. */
const SILENT = new Set([
  ...['type', 'role', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'status', 'phase'],
  ...['cache_control', 'signature', 'encrypted_content', 'thoughtSignature', 'thought_signature'],
  ...['detail', 'media_type', 'mimeType', 'mime_type', 'filename', 'annotations', 'logprobs'],
])

/** Names whose object is a schema or arguments. `input` is also where Responses has its turns, as an array. */
const DATA = new Set([
  ...['parameters', 'parametersJsonSchema', 'input_schema', 'schema'],
  ...['responseSchema', 'response_schema', 'responseJsonSchema', 'response_json_schema'],
  ...['input', 'args', 'arguments', 'response', 'action'],
])

/** `data` is the text of a source of text; else thoughts that a vendor hid, in its own cipher. */
function isSilent(block: JsonObject, name: string): boolean {
  return SILENT.has(name) || (name === 'data' && own(block, 'type') !== 'text')
}

const MEDIA = new Set([
  ...['image_url', 'input_audio', 'video_url', 'file', 'file_data', 'file_url', 'file_id'],
  ...['source', 'inlineData', 'inline_data', 'fileData'],
])

/** Anthropic's sources can be text or blocks, and a search result's is an address. */
function isMedia(name: string, member: JsonValue | undefined): boolean {
  if (name !== 'source') return MEDIA.has(name)
  const type = isJsonObject(member) ? own(member, 'type') : 'content'
  return type !== 'text' && type !== 'content'
}

function mediaTokens(block: JsonObject, name: string, member: JsonValue | undefined, texts: Texts): number {
  const source = isJsonObject(member) ? member : {}
  const mediaType = own(source, 'mimeType') ?? own(source, 'mime_type')
  return [name, own(block, 'type'), mediaType].some(said => /image/.test(texts.whole(asString(said) ?? '')))
    ? IMAGE_TOKENS
    : FILE_TOKENS
}

/** A member by its name, and nothing that objects have by nature. */
function own(value: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined
}
