import type { Codec, Target, TokenCountCodec } from '@/formats/codec.ts'
import { unsayable, unsupported } from '@/formats/invalid.ts'
import { mayBeSigned } from '@/formats/signatures/carried-signature.ts'
import { phaseOf } from '@/formats/signatures/phase.ts'
import { signatureFor } from '@/formats/signatures/signature.ts'
import { dropHostedTools } from '@/formats/tools/hosted.ts'
import { lowerTools } from '@/formats/tools/lower.ts'
import type { ToolTable } from '@/formats/tools/names.ts'
import { ownClientSettings } from '@/formats/tools/own-settings.ts'
import { raiseTools } from '@/formats/tools/raise.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { Format } from '@/generation/format.ts'
import type { Loss } from '@/generation/loss.ts'
import { compose, type StreamMachine } from '@/generation/machine.ts'
import type { Citation, Part } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { ThinkTags } from '@/generation/think-tags.ts'
import type { ClientTool, Tool, ToolChoice } from '@/generation/tool.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { emulateStop, unwrapOutputTool } from './emulation.ts'
import { withSummary } from './summaries.ts'
import { splitThinkTags } from './think-tags.ts'

/** A request as an upstream takes it, and the way back for its answer. */
export interface LoweredRequest {
  body: JsonObject
  headers: Readonly<Record<string, string>>
  losses: readonly Loss[]
  /** Turns the upstream's events into those the caller's request asked for; undefined where nothing is to be done. */
  createRaiser: (() => Raiser) | undefined
}

/** Undoes on an answer what was done to its request. */
export interface Raiser extends StreamMachine<GenerationEvent, GenerationEvent> {
  /** True when nothing of what the upstream may still send is wanted. */
  readonly done: boolean
  /** False when every text passes as it is. */
  readonly readsText: boolean
}

/** What an upstream does otherwise than its format says. */
export interface UpstreamHabits {
  /** It accepts nothing but function tools. */
  functionToolsOnly: boolean
  /** Its models write their thoughts into the text. */
  thinkTags: ThinkTags | undefined
}

/** Each is looked for in every piece of the answer. Vendors that look themselves take four or five. */
const MAX_EMULATED_STOPS = 100

/** So much text that may be the beginning of one is looked through again at each of its places. */
const MAX_EMULATED_STOP_LENGTH = 1000

/**
 * Writes a request for an upstream of any format: tools are lowered to functions, the codec encodes, and what the
 * format could not be asked for is done to the answer instead.
 * @throws GatewayError `unsupported_parameter`, which `inCallersWords` gives the caller's name of the field
 */
export function lowerRequest(
  asked: GenerationRequest,
  codec: Codec,
  target: Target,
  { functionToolsOnly, thinkTags }: UpstreamHabits,
): LoweredRequest {
  const request = withSummary(asked, codec.format)
  const { lowered, table, losses } = lower(request, codec, target, functionToolsOnly)
  const encoded = codec.encodeRequest(lowered, target)
  const { stop, outputTool } = encoded.emulate
  refuseManyStops(stop)
  const isChanged =
    table !== undefined || outputTool !== undefined || stop.length > 0 || thinkTags !== undefined
  return {
    body: encoded.body,
    headers: encoded.headers,
    losses: [
      ...losses,
      ...encoded.losses,
      ...foreignExtensions(request, codec),
      ...foreignCitations(request, codec),
      ...foreignSignatures(request, codec, target),
      ...foreignSummary(request, codec),
      ...request.unread.map(name => ({ field: 'extension', name }) as const),
    ],
    createRaiser: isChanged ? () => createRaiser(thinkTags, outputTool, table, stop) : undefined,
  }
}

/** A codec whose format can be asked for the tokens of a request. */
export type CountingCodec = Codec & { tokenCount: TokenCountCodec }

function refuseManyStops(stop: readonly string[]): void {
  if (stop.length > MAX_EMULATED_STOPS) {
    throw unsayable(
      'stop',
      `holds more than ${MAX_EMULATED_STOPS} sequences, and this upstream looks for none`,
    )
  }
  if (stop.some(sequence => sequence.length > MAX_EMULATED_STOP_LENGTH)) {
    throw unsayable(
      'stop',
      `holds a sequence of more than ${MAX_EMULATED_STOP_LENGTH} characters, and this upstream looks for none`,
    )
  }
}

/** Whether upstreams of a format can be asked to count tokens. */
export function canCount(codec: Codec): codec is CountingCodec {
  return codec.tokenCount !== undefined
}

/**
 * Writes the call that asks an upstream for the tokens of a request.
 * @throws GatewayError `unsupported_parameter`
 */
export function lowerCount(
  request: GenerationRequest,
  codec: CountingCodec,
  target: Target,
  functionToolsOnly: boolean,
): Pick<LoweredRequest, 'body' | 'headers'> {
  const { lowered } = lower(withSummary(request, codec.format), codec, target, functionToolsOnly)
  const { headers } = codec.encodeRequest(lowered, target)
  return { body: codec.tokenCount.encodeRequest(lowered, target), headers }
}

/** A request whose tools the format can name and the upstream takes; `table` is undefined where they were that already. */
function lower(asked: GenerationRequest, codec: Codec, target: Target, functionToolsOnly: boolean) {
  refuseKeptState(asked, codec)
  refuseComputer(asked, codec, functionToolsOnly)
  refuseMissingTool(asked)
  const request = withoutUnchosen(asked, codec)
  const hosted = functionToolsOnly ? dropHostedTools(request, () => false) : { request, losses: [] }
  const keepsCustom = !functionToolsOnly && codec.takesCustomTools(target)
  const { request: lowered, table, losses } = lowerTools(hosted.request, codec.toolNames(target), keepsCustom)
  const lost = request.tools.flatMap(tool => (tool.type === 'client' ? clientLosses(tool) : []))
  return {
    lowered,
    table: lowered === hosted.request ? undefined : table,
    losses: [...hosted.losses, ...losses, ...lost, ...lostForce(request)],
  }
}

/** A tool choice that forces a call although there are no tools: vendors refuse it, a conversion leaves it out and says so. */
function lostForce({ tools, toolChoice }: GenerationRequest): Loss[] {
  if (tools.length > 0 || toolChoice === undefined) return []
  const force = toolChoice.type === 'allowed' ? toolChoice.mode : toolChoice.type
  return force === 'required' || force === 'tool' ? [{ field: 'toolChoice', name: undefined }] : []
}

/** A tool of a type of its own always becomes a function. */
function clientLosses(tool: ClientTool): Loss[] {
  return ownClientSettings(tool).map(name => ({ field: 'tools', name }))
}

/** Fields that name what only their own vendor keeps, a part of the prompt or of the machine that it runs on. */
const KEPT_STATE: readonly (readonly [Format, string])[] = [
  ['gemini-generate-content', 'cachedContent'],
  ['anthropic-messages', 'container'],
]

/** Without what such a field names the model would answer another question. */
function refuseKeptState({ extensions }: GenerationRequest, codec: Codec): void {
  for (const [format, name] of KEPT_STATE) {
    if (format === codec.format || asksNothing(extensions[format]?.[name])) continue
    throw unsupported(name, 'names what only its own vendor keeps: send that itself')
  }
}

/**
 * OpenAI's computer tool is no function, and its actions are called otherwise at every other vendor. The caller runs it,
 * so an agent that lost it would wait in vain.
 */
function refuseComputer({ tools }: GenerationRequest, codec: Codec, functionToolsOnly: boolean): void {
  for (const tool of tools) {
    if (tool.type !== 'hosted' || !tool.wireType.startsWith('computer')) continue
    if (tool.format !== codec.format || functionToolsOnly)
      throw unsayable('tools', `holds '${tool.wireType}', which the model behind this name does not have`)
  }
}

/** A choice of tools none of which is among those offered: no upstream could call one. */
function refuseMissingTool({ tools, toolChoice: choice }: GenerationRequest): void {
  if (tools.length === 0) return
  const chosen = choice?.type === 'tool' ? [choice] : choice?.type === 'allowed' ? choice.tools : undefined
  if (chosen === undefined || chosen.some(one => tools.some(tool => isMeant(tool, one)))) return
  throw unsayable('toolChoice', 'names a tool that is not among the tools')
}

/** Responses' callers choose among the server's tools as well; other formats can only be kept from calling one by its absence. */
function withoutUnchosen(request: GenerationRequest, { format }: Codec): GenerationRequest {
  const { tools, toolChoice: choice } = request
  if (choice?.type !== 'allowed' || format === RESPONSES) return request
  const isOut = (tool: Tool) =>
    tool.type === 'hosted' && tool.format === RESPONSES && !choice.tools.some(one => isMeant(tool, one))
  return tools.some(isOut) ? { ...request, tools: tools.filter(tool => !isOut(tool)) } : request
}

const RESPONSES: Format = 'openai-responses'

/** A server's tools are called by what they do, their type, their name or their server's label. */
function isMeant(
  tool: Tool,
  chosen: { name: string; kind?: Extract<ToolChoice, { type: 'tool' }>['kind'] },
): boolean {
  const { name, kind } = chosen
  if (tool.type !== 'hosted') return typeof kind !== 'object' && tool.name === name
  if (typeof kind === 'object' && kind.hosted !== 'other' && kind.hosted === tool.kind) return true
  return [tool.wireType, tool.wire['name'], tool.wire['server_label']].includes(name)
}

/** The inverse steps in the inverse order; the caller's stop sequences are looked for in what the caller sees. */
function createRaiser(
  thinkTags: ThinkTags | undefined,
  outputTool: string | undefined,
  table: ToolTable | undefined,
  stop: readonly string[],
): Raiser {
  const stopper = emulateStop(stop)
  let machine: StreamMachine<GenerationEvent, GenerationEvent> = stopper
  if (table !== undefined) machine = compose(raiseTools(table), machine)
  if (outputTool !== undefined) machine = compose(unwrapOutputTool(outputTool), machine)
  if (thinkTags !== undefined) machine = compose(splitThinkTags(thinkTags), machine)
  return {
    get done() {
      return stopper.hit
    },
    readsText: stop.length > 0 || thinkTags !== undefined,
    push: (event, emit) => machine.push(event, emit),
    end: emit => machine.end(emit),
  }
}

/** Top-level fields that only another format knows; some are known to this one by the same name. */
function foreignExtensions(request: GenerationRequest, codec: Codec): Loss[] {
  const known = request.extensions[codec.format] ?? {}
  return Object.entries(request.extensions)
    .filter(([format]) => format !== codec.format)
    .flatMap(([, fields]) => Object.entries(fields ?? {}))
    .filter(([name]) => !Object.hasOwn(known, name))
    .flatMap(([name, value]) => (asksNothing(value) ? [] : ({ field: 'extension', name } as const)))
}

/** No text and a list of nothing ask for nothing, nor does an object in which there is no more than such lists. */
function asksNothing(value: JsonValue | undefined): boolean {
  if (isJsonObject(value)) return Object.values(value).every(isEmptyList)
  return value === undefined || value === '' || isEmptyList(value)
}

function isEmptyList(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Sources that earlier answers named: only the format that wrote them takes them back. */
function foreignCitations({ turns }: GenerationRequest, codec: Codec): Loss[] {
  const isForeign = ({ wire }: Citation) => wire?.format !== codec.format
  const isCited = (part: Part): boolean =>
    (part.type === 'text' && part.citations.some(isForeign)) ||
    (part.type === 'tool-result' && part.content.some(isCited))
  return turns.some(turn => turn.parts.some(isCited)) ? [{ field: 'citations', name: undefined }] : []
}

/** How long thoughts are to be summed up: elsewhere they are shown or not. */
function foreignSummary({ reasoning }: GenerationRequest, { format }: Codec): Loss[] {
  const isForeign = reasoning?.summary === 'concise' || reasoning?.summary === 'detailed'
  return isForeign && format !== RESPONSES ? [{ field: 'reasoning', name: 'summary' }] : []
}

/** Signatures that stand on texts and calls and that this upstream did not make. (A phase is a hint, and OpenAI's.) */
function foreignSignatures({ turns }: GenerationRequest, { format }: Codec, { vendor }: Target): Loss[] {
  const isForeign = (part: Part): boolean => {
    const signature = mayBeSigned(part) ? part.signature : undefined
    if (signature === undefined || signature.value === '' || phaseOf(signature) !== undefined) return false
    return signatureFor(signature, format, vendor) === undefined
  }
  return turns.some(turn => turn.parts.some(isForeign))
    ? [{ field: 'reasoningHistory', name: undefined }]
    : []
}
