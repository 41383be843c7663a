import type { Format } from '@/generation/format.ts'
import { asArray, asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { PLAIN_TEXTS, type Texts } from '@/json/outline.ts'

/** How a conversation begins, as it stands in the body: what every later turn repeats. */
interface Opening {
  system: readonly JsonValue[]
  /** The first turn of the user. */
  user: readonly JsonValue[]
}

/**
 * A short text that is the same for every turn of a conversation and differs between conversations; undefined if there
 * is nothing to go by. Reads the parsed body as it is, without decoding: on the way of every request.
 * @param texts what the body's strings stand for, where it is an outline
 */
export function digestOpening(
  format: Format,
  body: JsonObject,
  texts: Texts = PLAIN_TEXTS,
): string | undefined {
  const { system, user } = OPENINGS[format](body)
  const said = new Digest(texts)
  said.add(system)
  said.separate()
  said.add(user)
  return said.isEmpty ? undefined : said.text()
}

/** How each format spells a beginning. */
const OPENINGS = {
  'openai-chat-completions': body => turns([], asArray(body['messages'])),
  'openai-responses': responsesOpening,
  'anthropic-messages': body => turns(present(body['system']), asArray(body['messages'])),
  'gemini-generate-content': geminiOpening,
} satisfies Record<Format, (body: JsonObject) => Opening>

function responsesOpening(body: JsonObject): Opening {
  const { input } = body
  // A stored conversation is named; its beginning is not in the body.
  const stored = [asObject(body['conversation'])?.['id'], body['conversation']].find(
    id => typeof id === 'string',
  )
  if (stored !== undefined) return { system: [], user: [stored] }
  const system = present(body['instructions'])
  if (typeof input === 'string') return { system, user: [input] }
  return turns(system, asArray(input))
}

function geminiOpening(body: JsonObject): Opening {
  const { contents } = body
  const system = [body['systemInstruction'], body['system_instruction'], body['cachedContent']].flatMap(
    present,
  )
  if (typeof contents === 'string') return { system, user: [contents] }
  const list = Array.isArray(contents) ? contents : present(contents)
  // Google's SDKs leave the role out where there is one turn.
  const first = list.find(content => asObject(content)?.['role'] !== 'model')
  return { system, user: present(asObject(first)?.['parts'] ?? first) }
}

const SYSTEM_ROLES: ReadonlySet<unknown> = new Set(['system', 'developer'])

/** What is said to the model before the user's first turn, and that turn. */
function turns(told: readonly JsonValue[], messages: readonly JsonValue[]): Opening {
  const system = [...told]
  for (const message of messages) {
    const { role, content } = asObject(message) ?? {}
    if (role === 'user') return { system, user: present(content) }
    if (SYSTEM_ROLES.has(role)) system.push(...present(content))
  }
  return { system, user: [] }
}

function present(value: JsonValue | undefined): JsonValue[] {
  return value === undefined || value === null ? [] : [value]
}

/** What of a text counts; a longer one is told by its two ends and its length. */
const TEXT_SAMPLE = 2048
/** So many texts of the system, and so many of the turn. */
const MAX_TEXTS = 64
const MAX_DEPTH = 6

/** Keys whose values say how, not what; clients move cache marks from turn to turn. */
const NOT_SAID: ReadonlySet<string> = new Set([
  'type',
  'role',
  'id',
  'cache_control',
  'prompt_cache_breakpoint',
])

/** Claude Code's first system block, which differs from request to request. */
const BILLING_BLOCK = 'x-anthropic-billing-header'

/** Collects the texts of JSON values, as much of them as is needed to tell conversations apart. */
class Digest {
  readonly #parts: string[] = []
  readonly #texts: Texts
  #room = MAX_TEXTS
  isEmpty = true

  constructor(texts: Texts) {
    this.#texts = texts
  }

  add(values: readonly JsonValue[]): void {
    for (const value of values) this.#walk(value, 0)
  }

  /** What comes before is not what comes after. */
  separate(): void {
    this.#parts.push('\u0001')
    this.#room = MAX_TEXTS
  }

  text(): string {
    return Bun.hash.xxHash64(this.#parts.join('\u0000')).toString(36)
  }

  #walk(value: JsonValue | undefined, depth: number): void {
    if (depth > MAX_DEPTH || this.#room === 0) return
    if (typeof value === 'string') this.#say(value)
    else if (Array.isArray(value)) for (const item of value.slice(0, MAX_TEXTS)) this.#walk(item, depth + 1)
    else if (typeof value === 'object' && value !== null) this.#walkObject(value, depth)
  }

  #walkObject(object: JsonObject, depth: number): void {
    for (const key of Object.keys(object)) {
      if (!NOT_SAID.has(key)) this.#walk(object[key], depth + 1)
    }
  }

  #say(value: string): void {
    const text = this.#texts.whole(value)
    if (text === '' || text.startsWith(BILLING_BLOCK)) return
    this.isEmpty = false
    this.#room -= 1
    this.#parts.push(
      text.length <= 2 * TEXT_SAMPLE
        ? text
        : `${text.length}:${text.slice(0, TEXT_SAMPLE)}${text.slice(-TEXT_SAMPLE)}`,
    )
  }
}
