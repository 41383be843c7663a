import { modelTraits } from '@/formats/anthropic-messages/models.ts'
import { BLOCK_BINDING, FORMAT, VERSION } from '@/formats/anthropic-messages/wire.ts'
import type { EncodedRequest, Target } from '@/formats/codec.ts'
import { fitKey } from '@/formats/fitted-values.ts'
import { refuseSeveral, unsayable } from '@/formats/invalid.ts'
import { Losses, loseUnsupported, type RareField } from '@/formats/losses.ts'
import { fitCallId } from '@/formats/tools/call-ids.ts'
import { pairedTurns } from '@/formats/tools/paired-turns.ts'
import { type TextPart, textPart } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  type JsonValue,
  keysOf,
  present,
} from '@/json/json.ts'
import { cacheUnlessMarked, limitCacheMarks, marked } from './cache-marks.ts'
import { HeldSchemas } from './held-schemas.ts'
import { encodeMessages, splitHead } from './message-encode.ts'
import { encodeFormat, encodeOutput } from './output-encode.ts'
import { reasoningHistory } from './reasoning-history.ts'
import { spokenTurns } from './spoken-turns.ts'
import { encodeSampling, encodeThinking } from './thinking-encode.ts'
import { encodeTools } from './tools-encode.ts'

/** https://platform.claude.com/docs/en/api/messages/create */
const MAX_USER_ID = 256

/** Writes a request for an upstream. Keys always come in the same order: prompt caches live on equal bytes. */
export function encodeRequest(request: GenerationRequest, target: Target): EncodedRequest {
  refuseImpossible(request)
  const losses = new Losses()
  const model = modelTraits(target)
  const paired = pairedTurns(request.turns, fitCallId)
  const { head, headTurns } = splitHead(paired)
  const turns = spokenTurns(paired.slice(headTurns), losses)
  const history = reasoningHistory(turns, target)
  if (history.lost) losses.add('reasoningHistory')

  const held = new HeldSchemas()
  const format = encodeFormat(request.output, model, held)
  const offered = encodeTools(request, model, held, losses)
  const output = encodeOutput(request.output, format, offered.tools.length > 0, model, losses)
  const forced = offered.forced || output.tool !== undefined
  const thoughtMissing = model.needsThoughts ? history.lacksThought : history.openLoopLacksThought
  const conditions = { forced, thoughtMissing }
  const thinking = encodeThinking(request, target, model, conditions, losses)
  const context = { target, model, thoughts: history.kept, thinking: thinking.on, losses }
  const spoken = [offered.instruction, output.instruction].flatMap(text =>
    text === undefined ? [] : textPart(text),
  )
  const stop = request.stop.filter(text => text.trim() !== '')

  const body: JsonObject = {
    model: target.model,
    max_tokens: thinking.maxTokens,
    ...encodeSystem([...request.instructions, ...head, ...spoken]),
    messages: encodeMessages(turns, context),
    ...toolFields(offered.tools, offered.choice, output.tool),
    ...present({ thinking: bound(thinking.thinking, ownExtensions(request)[BLOCK_BINDING], losses) }),
    ...outputConfig(thinking.effort, output.format, ownExtensions(request)['output_config']),
    ...encodeSampling(request, thinking.on, model, losses),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...(request.user !== undefined && { metadata: { user_id: fitKey(request.user, MAX_USER_ID) } }),
    ...encodeTier(request.serviceTier, losses),
    ...(request.stream && { stream: true }),
    ...extensionFields(ownExtensions(request), thinking.on, losses),
  }
  limitCacheMarks(body, losses)
  if (request.promptCacheKey !== undefined || target.cachesPrompts === true) cacheUnlessMarked(body)
  loseUnsupported(request, UNSUPPORTED, losses)
  return {
    body,
    losses: losses.list,
    headers: VERSION,
    emulate: {
      // The API refuses stop sequences of nothing but white space.
      stop: request.stop.filter(text => text.trim() === ''),
      outputTool: output.tool === undefined ? undefined : String(output.tool['name']),
    },
  }
}

/** What the caller relies on and this API cannot give in any way. */
function refuseImpossible(request: GenerationRequest): void {
  refuseSeveral(request)
  const modalities = new Set(request.modalities)
  if (modalities.has('audio') || (modalities.has('image') && !modalities.has('text'))) {
    throw unsayable('modalities', 'asks for output other than text, which this model does not make')
  }
}

/** One text, or blocks where a cache mark needs its place. */
function encodeSystem(parts: readonly TextPart[]): JsonObject {
  const texts = parts.filter(part => part.text.trim() !== '')
  if (texts.length === 0) return {}
  if (texts.every(part => part.cache === undefined)) {
    return { system: texts.map(part => part.text).join('\n\n') }
  }
  return { system: texts.map(part => marked({ type: 'text', text: part.text }, part.cache)) }
}

function toolFields(
  tools: readonly JsonObject[],
  choice: JsonObject | undefined,
  outputTool: JsonObject | undefined,
): JsonObject {
  if (outputTool !== undefined) {
    const forced = { type: 'tool', name: outputTool['name'], disable_parallel_tool_use: true }
    return { tools: [outputTool], tool_choice: forced }
  }
  if (tools.length === 0) return {}
  return present({ tools: [...tools], tool_choice: choice })
}

/** Thinking with what becomes of earlier thoughts that stand in another conversation than theirs. */
function bound(
  thinking: JsonObject | undefined,
  binding: JsonValue | undefined,
  losses: Losses,
): JsonObject | undefined {
  if (binding === undefined) return thinking
  if (thinking?.['type'] === 'enabled' || thinking?.['type'] === 'adaptive')
    return { ...thinking, block_binding: binding }
  losses.add('extension', BLOCK_BINDING)
  return thinking
}

function outputConfig(
  effort: string | undefined,
  format: JsonObject | undefined,
  extension: JsonValue | undefined,
): JsonObject {
  const config = { ...present({ effort, format }), ...asObject(extension) }
  return Object.keys(config).length === 0 ? {} : { output_config: config }
}

/** `default` is the neutral word for what is `standard_only` here; a wish for priority is `auto`. */
function encodeTier(tier: string | undefined, losses: Losses): JsonObject {
  switch (tier) {
    case undefined:
      return {}
    case 'auto':
    case 'priority':
      return { service_tier: 'auto' }
    case 'default':
    case 'standard':
    case 'standard_only':
      return { service_tier: 'standard_only' }
    default:
      losses.add('serviceTier')
      return {}
  }
}

function ownExtensions(request: GenerationRequest): JsonObject {
  return request.extensions[FORMAT] ?? {}
}

/** The API edits thoughts out of the context only while it thinks. */
function extensionFields(own: JsonObject, thinks: boolean, losses: Losses): JsonObject {
  const { output_config: _merged, [BLOCK_BINDING]: _bound, ...fields } = own
  const management = asObject(fields['context_management'])
  const edits = asObjects(management?.['edits'])
  const kept = thinks ? edits : edits.filter(({ type }) => !asString(type)?.startsWith('clear_thinking'))
  if (kept.length === edits.length) return fields
  losses.add('extension', 'context_management')
  return { ...fields, context_management: { ...management, edits: kept } }
}

/** The rarer fields that this format does not have; the type names those that it has. A new field goes on one of the two. */
const UNSUPPORTED = keysOf({
  verbosity: true,
  seed: true,
  presencePenalty: true,
  frequencyPenalty: true,
  logitBias: true,
  logprobs: true,
  modalities: true,
  metadata: true,
  promptCacheKey: true,
  store: true,
} satisfies Record<Exclude<RareField, 'topK' | 'user'>, true>)
