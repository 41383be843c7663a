import { PROMPT_FIELDS } from '@/exchange/admission/decisive-names.ts'
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
  return weighPrompt(body, bytes, texts).likely
}

/** What a prompt comes to. */
interface PromptTokens {
  /** By rule of thumb: what limits reckon with, and what is charged where nobody reports. */
  likely: number
  /** What is set aside: with a margin, and files by their length. */
  most: number
}

/** The tokens of a prompt as `estimateTokens` has them, and what they may turn out to be. */
export function weighPrompt(body: JsonObject, bytes: number, texts: Texts = PLAIN_TEXTS): PromptTokens {
  const tally = new Tally(texts)
  for (const name of PROMPT_FIELDS) tally.add(body[name], 'blocks')
  while (tally.left > 0) {
    const block = tally.blocks.pop()
    const data = block === undefined ? tally.data.pop() : undefined
    if (block !== undefined) weighBlock(block, tally)
    else if (data !== undefined) weighData(data, tally)
    else {
      const said = tokensIn(tally.textBytes) + tally.fixedTokens
      return { likely: said + tally.mediaTokens, most: withMargin(said) + tally.mostMediaTokens }
    }
  }
  return { likely: tokensIn(bytes), most: withMargin(tokensIn(bytes)) }
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
  return tokensIn(bytes) + numbers
}

/** Tokens of a text by its UTF-8 bytes alone. */
export function tokensIn(textBytes: number): number {
  return Math.ceil(textBytes / BYTES_PER_TOKEN)
}

const BYTES_PER_TOKEN = 4

/** A picture, a sound, a film, or any other file. */
type Medium = 'image' | 'audio' | 'video' | 'document'

/**
 * What a medium usually comes to, and what it may. An image is one of about a megapixel, for which vendors charge 85 to
 * 1,600, and the most that one charges for the largest. Of all others the length is known, if they are in the body: what
 * is set aside is several times what a PDF with letters and pictures, speech or a film comes to, not what somebody can
 * make who wants many tokens of few bytes.
 */
const MEDIA: Readonly<
  Record<Medium, { likely: number; least: number; bytesPerToken: number; elsewhere: number }>
> = {
  image: { likely: 1_000, least: 5_000, bytesPerToken: Number.POSITIVE_INFINITY, elsewhere: 5_000 },
  audio: { likely: 2_000, least: 3_000, bytesPerToken: 250, elsewhere: 10_000 },
  video: { likely: 2_000, least: 3_000, bytesPerToken: 200, elsewhere: 300_000 },
  document: { likely: 2_000, least: 3_000, bytesPerToken: 16, elsewhere: 50_000 },
}

/** Longer ones are no address but the medium itself, in base64. */
const LONGEST_ADDRESS = 4_096

/** What stands around a turn. */
const TURN_TOKENS = 4

/** What stands around a member of a schema or of a call's arguments. */
const MEMBER_BYTES = 4

/** More values than this are not looked at one by one. */
const MAX_PIECES = 50_000

/** What a prompt comes to as far as it was looked at. On the way of every request, so nothing is made for a value. */
class Tally {
  textBytes = 0
  fixedTokens = 0
  mediaTokens = 0
  mostMediaTokens = 0
  /** Values that may still be looked at. */
  left = MAX_PIECES
  /** Turns, parts and tools that wait to be looked at, and lists of them. */
  readonly blocks: (JsonObject | JsonValue[])[] = []
  /** The same for schemas and arguments, where names are part of the text. */
  readonly data: (JsonObject | JsonValue[])[] = []
  readonly texts: Texts

  constructor(texts: Texts) {
    this.texts = texts
  }

  /** Adds what a value says by itself; one that holds others waits. */
  add(value: JsonValue | undefined, as: 'blocks' | 'data'): void {
    this.left -= 1
    if (typeof value === 'string') this.textBytes += this.texts.byteLength(value)
    else if (typeof value === 'object' && value !== null) this[as].push(value)
    else if (as === 'data' && value !== undefined) this.textBytes += String(value).length
  }

  addAll(values: readonly JsonValue[], as: 'blocks' | 'data'): void {
    if (values.length > this.left) this.left = 0
    else for (const value of values) this.add(value, as)
  }
}

function weighData(value: JsonObject | JsonValue[], tally: Tally): void {
  if (Array.isArray(value)) return tally.addAll(value, 'data')
  for (const name in value) {
    if (tally.left <= 0) return
    tally.textBytes += Buffer.byteLength(name) + MEMBER_BYTES
    tally.add(value[name], 'data')
  }
}

/** A turn, a part of one, a tool, or a list of such. */
function weighBlock(value: JsonObject | JsonValue[], tally: Tally): void {
  if (Array.isArray(value)) return tally.addAll(value, 'blocks')
  if (value['role'] !== undefined) tally.fixedTokens += TURN_TOKENS
  for (const name in value) {
    if (tally.left <= 0) return
    const member = value[name]
    const kind = KINDS.get(name)
    if (kind === undefined) tally.add(member, 'blocks')
    else if (isMedia(kind, member)) weighMedium(value, name, member, tally)
    else if (!isSilent(kind, value))
      tally.add(member, kind === 'data' && isJsonObject(member) ? 'data' : 'blocks')
  }
}

/** What a member with such a name is; any other one is text of the prompt. */
type Kind = 'silent' | 'cipher' | 'data' | 'media' | 'source'

const KINDS: ReadonlyMap<string, Kind> = new Map([
  // Ids, marks, state that only its maker can read.
  ...named('silent', ['type', 'role', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'status', 'phase']),
  ...named('silent', ['cache_control', 'signature', 'encrypted_content', 'thoughtSignature']),
  ...named('silent', ['thought_signature', 'detail', 'media_type', 'mimeType', 'mime_type', 'filename']),
  ...named('silent', ['annotations', 'logprobs']),
  // The text of a source of text; else thoughts that a vendor hid, in its own cipher.
  ...named('cipher', ['data']),
  // A schema or arguments, if it is an object: `input` is also where Responses has its turns, as an array.
  ...named('data', ['parameters', 'parametersJsonSchema', 'input_schema', 'schema', 'responseSchema']),
  ...named('data', ['response_schema', 'responseJsonSchema', 'response_json_schema']),
  ...named('data', ['input', 'args', 'arguments', 'response', 'action']),
  ...named('media', ['image_url', 'input_audio', 'video_url', 'file', 'file_data', 'file_url', 'file_id']),
  ...named('media', ['inlineData', 'inline_data', 'fileData', 'document_url']),
  // Anthropic's sources can be text or blocks, and a search result's is an address.
  ...named('source', ['source']),
])

function named(kind: Kind, names: readonly string[]): [string, Kind][] {
  return names.map(name => [name, kind])
}

function isSilent(kind: Kind, block: JsonObject): boolean {
  return kind === 'silent' || (kind === 'cipher' && block['type'] !== 'text')
}

function isMedia(kind: Kind, member: JsonValue | undefined): boolean {
  if (kind !== 'source') return kind === 'media'
  const type = isJsonObject(member) ? member['type'] : 'content'
  return type !== 'text' && type !== 'content'
}

function weighMedium(block: JsonObject, name: string, member: JsonValue | undefined, tally: Tally): void {
  const { likely, least, bytesPerToken, elsewhere } = MEDIA[mediumOf(block, name, member, tally.texts)]
  const bytes = bytesOf(member, tally.texts)
  tally.mediaTokens += likely
  tally.mostMediaTokens += bytes === undefined ? elsewhere : Math.max(least, Math.ceil(bytes / bytesPerToken))
}

function mediumOf(block: JsonObject, name: string, member: JsonValue | undefined, texts: Texts): Medium {
  const source = isJsonObject(member) ? member : {}
  const mediaType = source['mimeType'] ?? source['mime_type'] ?? source['media_type']
  const said = [name, block['type'], mediaType].map(word => texts.whole(asString(word) ?? '')).join(' ')
  if (said.includes('image')) return 'image'
  if (said.includes('audio')) return 'audio'
  return said.includes('video') ? 'video' : 'document'
}

/** The length of a medium that is in the body; undefined for one that is named by an address or an id. */
function bytesOf(member: JsonValue | undefined, texts: Texts): number | undefined {
  let longest = 0
  let isElsewhere = false
  for (const value of isJsonObject(member) ? Object.values(member) : [member]) {
    if (typeof value !== 'string') continue
    const length = texts.byteLength(value)
    longest = Math.max(longest, length)
    if (length <= LONGEST_ADDRESS && ADDRESS.test(texts.whole(value))) isElsewhere = true
  }
  return isElsewhere && longest <= LONGEST_ADDRESS ? undefined : (longest * 3) / 4
}

const ADDRESS = /^(https?:|gs:|s3:|file)/i
