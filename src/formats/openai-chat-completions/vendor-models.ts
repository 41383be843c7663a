import { DEEPSEEK } from '@/formats/deepseek.ts'
import { bareModelName } from '@/formats/openai/models.ts'
import { vendorHost } from '@/formats/openai/vendor.ts'
import { remembered } from '@/formats/remembered.ts'
import type { RequestField } from '@/generation/loss.ts'
import type { Effort } from '@/generation/request.ts'
import type { JsonObject } from '@/json/json.ts'
import { GROQ, MISTRAL, MOONSHOT, ZAI } from './vendor-hosts.ts'

/** What one of a vendor's models takes, told by both their names, where that is not what the format says. */
export interface VendorModel {
  /** Fields that it answers with a 400. */
  refuses: ReadonlySet<RequestField>
  /** The efforts that it takes, weakest first; undefined when nothing is known. */
  efforts: readonly Effort[] | undefined
  /** What keeps it from thinking where an effort of none does not; `never`: nothing does; undefined: an effort does. */
  unthinking: JsonObject | 'never' | undefined
  /** Its thoughts stand as parts among those of its content, and are taken back there, of all messages. */
  thinkingParts: boolean
  /** It takes `cache_control` on parts, for five minutes alone. */
  cacheControl: boolean
  /** The ways in which it can be made to call a tool: some tool, or the one that is named. */
  forces: readonly ('required' | 'tool')[]
  /** Whether it can be told to call none; else it is offered none. */
  takesNone: boolean
  /** Whether it thinks all the same when it is made to call one. */
  thinksWhenForced: boolean
  /** In a stream it keeps calls back until they are whole, unless `tool_stream` says otherwise. */
  toolStream: boolean
  /** What its answer can be held to. */
  output: 'schema' | 'json'
  /** Whether its answer can be held to that where tools are offered. */
  outputBesideTools: boolean
}

const EVERY: VendorModel = {
  refuses: new Set(),
  efforts: undefined,
  unthinking: undefined,
  thinkingParts: false,
  cacheControl: false,
  forces: ['required', 'tool'],
  takesNone: true,
  thinksWhenForced: true,
  toolStream: false,
  output: 'schema',
  outputBesideTools: true,
}

/** What all models of a vendor have in common, and those that differ: the first row that fits counts. */
interface Vendor {
  host: RegExp
  every: Partial<VendorModel>
  models: readonly (readonly [RegExp, Partial<VendorModel>])[]
}

const NO_THINKING: JsonObject = { thinking: { type: 'disabled' } }

/** Of Kimi and GLM where they always think. */
const LOW_HIGH_MAX: readonly Effort[] = ['low', 'high', 'max']

/** Models that do not think refuse an effort, and to be shown thoughts: https://github.com/mistralai/mistral-vibe/issues/758 */
const THINKS_AT_MISTRAL: Partial<VendorModel> = { refuses: new Set(), thinkingParts: true }

/** Moonshot has set these for its models: https://platform.kimi.ai/docs/api/models-overview */
const SET_BY_MOONSHOT: ReadonlySet<RequestField> = new Set([
  'temperature',
  'topP',
  'candidates',
  'presencePenalty',
  'frequencyPenalty',
])

/** https://docs.x.ai/docs/guides/reasoning, and of all models https://github.com/miaoxworld/NativeTavern/issues/83 */
const REFUSED_BY_XAI: readonly RequestField[] = ['presencePenalty', 'frequencyPenalty', 'stop']

const VENDORS: readonly Vendor[] = [
  {
    // https://api-docs.deepseek.com/guides/thinking_mode, https://github.com/deepseek-ai/DeepSeek-V3/issues/1376,
    // https://github.com/llm-exe/llm-exe/issues/662
    host: DEEPSEEK,
    every: { unthinking: 'never', output: 'json' },
    models: [[/^deepseek/, { unthinking: NO_THINKING, thinksWhenForced: false }]],
  },
  {
    // https://platform.kimi.ai/docs/api/chat: a call is forced by its name where the model does not think, from K3 on
    // not by name.
    host: MOONSHOT,
    every: { unthinking: 'never' },
    models: [
      [
        /^kimi-k2\.[56]/,
        { refuses: SET_BY_MOONSHOT, unthinking: NO_THINKING, forces: ['tool'], thinksWhenForced: false },
      ],
      [/^kimi-(?:k2\.|for-coding)/, { refuses: SET_BY_MOONSHOT, forces: [] }],
      [/^kimi-k2-thinking/, { forces: [] }],
      [/^kimi-k2/, { forces: ['tool'] }],
      [
        /^(?:kimi-)?k\d/,
        { refuses: SET_BY_MOONSHOT, forces: ['required'], unthinking: undefined, efforts: LOW_HIGH_MAX },
      ],
    ],
  },
  {
    // https://docs.z.ai/guides/capabilities/thinking, https://github.com/NousResearch/hermes-agent/pull/97286; of calls
    // https://github.com/vectorize-io/hindsight/issues/4246, https://docs.z.ai/guides/tools/stream-tool
    host: ZAI,
    every: { efforts: LOW_HIGH_MAX, forces: [], takesNone: false, toolStream: true },
    models: [
      [/^glm-(?:4\.[67]|5(?!\.[3-9]))/, { unthinking: NO_THINKING, efforts: undefined }],
      [/^glm-4/, { unthinking: NO_THINKING, efforts: undefined, toolStream: false }],
    ],
  },
  {
    // https://www.alibabacloud.com/help/en/model-studio/deep-thinking, https://github.com/cloudwego/eino/issues/994,
    // https://www.alibabacloud.com/help/en/model-studio/context-cache
    host: /(?:^|\.)aliyuncs\.com$/,
    every: {},
    models: [
      [/^q(?:w|v)q|^qwen.*thinking/, { unthinking: 'never', forces: [] }],
      [/^qwen/, { unthinking: { enable_thinking: false }, thinksWhenForced: false, cacheControl: true }],
    ],
  },
  {
    // https://github.com/BerriAI/litellm/pull/16265, https://github.com/vercel/ai/blob/main/packages/xai/src/supports-reasoning-effort.ts
    host: /^xai$|(?:^|\.)x\.ai$/,
    every: { refuses: new Set(REFUSED_BY_XAI) },
    models: [
      [/^grok-3-mini/, { efforts: ['low', 'high'] }],
      [
        /^grok-(?:[23]|code|build|composer|4(?!\.)|4\.20(?:-\d{4})?-(?:non-)?reasoning)/,
        { refuses: new Set([...REFUSED_BY_XAI, 'reasoning']) },
      ],
    ],
  },
  {
    // https://github.com/TauricResearch/TradingAgents/pull/1301, https://ocaml.org/p/chatoyant/latest/doc/src/chatoyant.provider/meta.ml.html
    host: /(?:^|\.)(?:meta\.ai|ai\.meta\.com)$/,
    every: { refuses: new Set(['stop']), forces: [], takesNone: false },
    models: [],
  },
  {
    // https://docs.mistral.ai/inference/conversations/reasoning, of GLM https://github.com/anomalyco/models.dev/pull/7334
    host: MISTRAL,
    every: { refuses: new Set(['reasoning']) },
    models: [
      [
        /^(?:magistral|mistral-large-[4-9]|mistral-medium(?!-(?:25|3[.-]1))|mistral-small(?!-(?:25|3))|labs-leanstral)/,
        { ...THINKS_AT_MISTRAL, efforts: ['none', 'high'] },
      ],
      [/^(?:zai-)?glm-5-2/, { ...THINKS_AT_MISTRAL, efforts: ['none', 'high', 'max'] }],
      [/^(?:zai-)?glm/, { ...THINKS_AT_MISTRAL, efforts: LOW_HIGH_MAX }],
    ],
  },
  {
    // https://console.groq.com/docs/structured-outputs, https://console.groq.com/docs/reasoning
    host: GROQ,
    every: { outputBesideTools: false },
    models: [
      [/^gpt-oss/, {}],
      [/^qwen3(?:-|\.6)/, { output: 'json', efforts: ['none'] }],
      [/^(?:llama-4|kimi)/, { refuses: new Set(['reasoning']) }],
      [/^(?:llama|compound|gemma|allam)/, { output: 'json', refuses: new Set(['reasoning']) }],
    ],
  },
]

const modelsOf = remembered((vendor: string) => {
  const host = vendorHost(vendor)
  const found = VENDORS.find(vendor => vendor.host.test(host))
  return remembered((model: string): VendorModel => {
    if (found === undefined) return EVERY
    const name = bareModelName(model)
    const own = found.models.find(([pattern]) => pattern.test(name))?.[1]
    return { ...EVERY, ...found.every, ...own }
  })
})

/** What is known of a model at a vendor. */
export function vendorModel(vendor: string, model: string): VendorModel {
  return modelsOf(vendor)(model)
}
