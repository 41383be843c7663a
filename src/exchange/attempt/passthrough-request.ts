import { editBody, outlineOf, textsOf } from '@/exchange/admission/body.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { modelRules } from '@/formats/openai-responses/model-rules.ts'
import { carriesWrappedSignature } from '@/formats/signatures/signature.ts'
import type { Format } from '@/generation/format.ts'
import { asArray, asNumber, asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import { sliceItems } from '@/json/slice.ts'
import type { JsonEdit } from '@/json/splice.ts'
import type { Route } from '@/routing/model.ts'

/** Whether a route can be given the caller's own bytes, and the caller its answer's. */
export function isPassthrough(prompt: Prompt, { channel }: Route): boolean {
  const isAlike =
    channel.format === prompt.format && !channel.functionToolsOnly && channel.thinkTags === undefined
  const passes = isAlike && prompt.purpose !== 'summary'
  return passes && !carriesWrappedSignature(prompt.body.bytes, prompt.body.outline)
}

/** What is sent to an upstream. */
export interface SentRequest {
  /** Good until another request is made of the same prompt (`editBody`). */
  body: Uint8Array
  headers: Readonly<Record<string, string>>
}

/** The caller's own bytes, with nothing changed but what the gateway owns, and `more`. */
export function passOn(prompt: Prompt, route: Route, more: readonly JsonEdit[] = []): SentRequest {
  return {
    body: editBody(prompt.body, [...ownedEdits(prompt, route), ...more]),
    headers: passedHeaders(prompt),
  }
}

function ownedEdits(prompt: Prompt, route: Route): JsonEdit[] {
  const edits: JsonEdit[] = []
  const json = outlineOf(prompt.body)
  if (
    json['model'] !== undefined &&
    json['model'] !== route.upstreamModel &&
    prompt.format !== 'gemini-generate-content'
  ) {
    edits.push({ path: ['model'], value: route.upstreamModel })
  }
  if (prompt.format === 'openai-chat-completions' && prompt.stream && !asksForUsage(json)) {
    edits.push({ path: ['stream_options', 'include_usage'], value: true })
  }
  if (prompt.outputLimit !== undefined) {
    edits.push({ path: outputLimitPath(prompt, route), value: prompt.outputLimit })
  }
  // Codex tells its vendor of the caller's machine here: session ids, local paths.
  if (prompt.format === 'openai-responses' && json['client_metadata'] !== undefined) {
    edits.push({ path: ['client_metadata'], value: {} })
  }
  return edits
}

const ENCRYPTED = 'reasoning.encrypted_content'

/**
 * Keeps a Responses upstream from keeping anything: what is kept is kept here, and a store that all of the gateway's
 * callers share is nobody's. So reasoning has to travel with the conversation, and references to what the upstream
 * would have kept lead nowhere: those to reasoning, which the AI SDK
 * sends since it takes the vendor to keep everything, are taken out, as for any other upstream.
 */
export function statelessEdits(prompt: Prompt, route: Route): JsonEdit[] {
  if (prompt.format !== 'openai-responses') return []
  const { bytes } = prompt.body
  const json = outlineOf(prompt.body)
  const edits: JsonEdit[] = []
  if (json['store'] !== false) edits.push({ path: ['store'], value: false })
  const include = asArray(json['include'])
  if (!include.includes(ENCRYPTED) && modelRules(route.upstreamModel).reasons === true) {
    const spelled = include.length === 0 ? [] : (sliceItems(bytes, 'include') ?? [])
    edits.push({ path: ['include'], text: `[${[...spelled, JSON.stringify(ENCRYPTED)].join(',')}]` })
  }
  const items = asArray(json['input'])
  const texts = textsOf(prompt.body)
  const isLost = (item: JsonValue | undefined) => isLostReasoning(item, texts)
  if (items.some(isLost)) {
    const spelled = sliceItems(bytes, 'input') ?? []
    const kept = spelled.filter((_, index) => !isLost(items[index]))
    edits.push({ path: ['input'], text: `[${kept.join(',')}]` })
  }
  return edits
}

/** Reasoning by reference only: its text, if any, is no use without what the upstream would have kept. */
function isLostReasoning(value: JsonValue | undefined, texts: Texts): boolean {
  const item = asObject(value)
  const id = item?.['id']
  if (typeof id !== 'string' || !texts.whole(id).startsWith('rs_')) return false
  if (item?.['type'] === 'item_reference') return true
  return item?.['type'] === 'reasoning' && !item['encrypted_content'] && asArray(item['content']).length === 0
}

/** Where each format has the limit of the answer's length. Of Chat's two, OpenAI has left one behind and others do not know the other. */
function outputLimitPath(prompt: Prompt, { channel }: Route): string[] {
  switch (prompt.format) {
    case 'openai-chat-completions':
      return [channel.vendor.endsWith('openai.com') ? 'max_completion_tokens' : 'max_tokens']
    case 'openai-responses':
      return ['max_output_tokens']
    case 'anthropic-messages':
      return ['max_tokens']
    case 'gemini-generate-content':
      return [
        'generation_config' in outlineOf(prompt.body) ? 'generation_config' : 'generationConfig',
        'maxOutputTokens',
      ]
  }
}

/** Whether a Chat caller wants the usage chunk itself; the gateway asks the upstream for it always. */
export function asksForUsage(json: JsonObject): boolean {
  return asObject(json['stream_options'])?.['include_usage'] === true
}

/** Whether a Chat caller wants several answers at once, of which each may begin and end at any time. */
export function asksForSeveral(json: JsonObject): boolean {
  return (asNumber(json['n']) ?? 1) > 1
}

/** Request headers that an upstream of the caller's own format may see. Everything else stays here. */
const PASSED_HEADERS: Record<Format, readonly string[]> = {
  'openai-chat-completions': ['openai-beta'],
  'openai-responses': ['openai-beta'],
  'anthropic-messages': ['anthropic-version', 'anthropic-beta'],
  'gemini-generate-content': [],
}

/** The version that Anthropic's API wants from a caller who forgot it. */
const DEFAULT_ANTHROPIC_VERSION = '2023-06-01'

const NO_HEADERS = Object.freeze({})

/** What nearly all callers of a format say, or would if they said anything: always the same frozen object. */
const USUAL_HEADERS: Record<Format, Readonly<Record<string, string>>> = {
  'openai-chat-completions': NO_HEADERS,
  'openai-responses': NO_HEADERS,
  'anthropic-messages': Object.freeze({ 'anthropic-version': DEFAULT_ANTHROPIC_VERSION }),
  'gemini-generate-content': NO_HEADERS,
}

function passedHeaders(prompt: Prompt): Readonly<Record<string, string>> {
  const usual = USUAL_HEADERS[prompt.format]
  let headers = usual
  for (const name of PASSED_HEADERS[prompt.format]) {
    const value = prompt.headers.get(name)
    if (value !== null && value !== usual[name]) headers = { ...headers, [name]: value }
  }
  return headers
}
