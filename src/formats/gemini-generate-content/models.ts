import type { Target } from '@/formats/codec.ts'
import { remembered } from '@/formats/remembered.ts'
import { EFFORTS, type Effort } from '@/generation/request.ts'
import { asWord } from '@/json/json.ts'

/** How a model is told to think. */
type Thinking =
  | { type: 'none' }
  /** `thinkingBudget` in tokens; 0 switches it off where `canDisable`. */
  | { type: 'budget'; min: number; max: number; canDisable: boolean }
  /** `thinkingLevel`; the levels it takes, weakest first. */
  | { type: 'level'; levels: readonly ThinkingLevel[] }

const THINKING_LEVELS = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH'] as const
/** A value of `thinkingLevel`, weakest first in the list. */
export type ThinkingLevel = (typeof THINKING_LEVELS)[number]

/** What a request for a model may say. */
export interface ModelTraits {
  thinking: Thinking
  /** Takes `parametersJsonSchema` and `responseJsonSchema`. */
  jsonSchema: boolean
  /** Takes built-in tools beside function declarations. */
  mixedTools: boolean
  /** Takes a JSON answer beside function declarations. */
  jsonBesideTools: boolean
  /** Gives calls an id and wants it back; may refuse calls of the current turn without a signature. */
  callIds: boolean
  /** Is known to refuse them. */
  refusesUnsignedCalls: boolean
  /** Refuses images of its own turns without a signature. */
  refusesUnsignedImages: boolean
  /** Makes images larger than 1K if it is told to. */
  imageSizes: boolean
  /** Takes media inside a functionResponse. */
  mediaInResults: boolean
  /** Takes with an image how closely to look at it; older ones have one measure for a whole request. */
  mediaResolution: boolean
  /** Fetches public https addresses itself. */
  fetchesUrls: boolean
  /** Goes on with a last turn of its own; others refuse one: https://ai.google.dev/gemini-api/docs/generate-content/whats-new-gemini-3.6 */
  prefill: boolean
  /** See `maxCandidates`. */
  candidates: { geminiApi: number; elsewhere: number }
  /** See `refusedFields`. */
  refuses: readonly RefusableField[]
}

const PENALTIES = ['presencePenalty', 'frequencyPenalty'] as const
const PENALTIES_AND_LOGPROBS = [...PENALTIES, 'logprobs'] as const
/** A field of requests that not all models take. */
type RefusableField = (typeof PENALTIES_AND_LOGPROBS)[number]

const ONE = { geminiApi: 1, elsewhere: 1 }

const OLDER: ModelTraits = {
  thinking: { type: 'none' },
  jsonSchema: false,
  mixedTools: false,
  jsonBesideTools: false,
  callIds: false,
  refusesUnsignedCalls: false,
  refusesUnsignedImages: false,
  imageSizes: false,
  mediaInResults: false,
  mediaResolution: false,
  fetchesUrls: false,
  prefill: true,
  candidates: { geminiApi: 8, elsewhere: 8 },
  refuses: [],
}

const GEMMA: ModelTraits = { ...OLDER, candidates: ONE, refuses: PENALTIES_AND_LOGPROBS }

/** Log probabilities are refused for some of these only. */
const GEMINI_2_5: ModelTraits = { ...OLDER, jsonSchema: true, fetchesUrls: true, refuses: PENALTIES }

const GEMINI_3: ModelTraits = {
  thinking: { type: 'level', levels: ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] },
  jsonSchema: true,
  mixedTools: true,
  jsonBesideTools: true,
  callIds: true,
  refusesUnsignedCalls: true,
  refusesUnsignedImages: false,
  imageSizes: false,
  mediaInResults: true,
  mediaResolution: true,
  fetchesUrls: true,
  prefill: false,
  candidates: OLDER.candidates,
  refuses: PENALTIES_AND_LOGPROBS,
}

/** To 3.1: several answers are a 400 of the Gemini API, and none of Vertex. */
const FIRST_3: ModelTraits = { ...GEMINI_3, prefill: true, candidates: { geminiApi: 1, elsewhere: 8 } }

const IMAGES_3: ModelTraits = {
  ...GEMINI_3,
  thinking: { type: 'level', levels: ['MINIMAL', 'HIGH'] },
  refusesUnsignedImages: true,
  imageSizes: true,
  candidates: ONE,
}

const NO_THINKING: Thinking = { type: 'none' }

/** A name that says nothing: a built-in tool can be done without, so it is not risked beside functions. */
const UNKNOWN: ModelTraits = {
  ...GEMINI_3,
  mixedTools: false,
  refusesUnsignedCalls: false,
  mediaResolution: false,
  prefill: true,
  refuses: [],
}

/**
 * By name, the first row that fits. https://ai.google.dev/gemini-api/docs/thinking has the ranges. A Gemini that
 * fits nowhere else is taken for newer than this table.
 */
const MODELS: readonly (readonly [RegExp, ModelTraits])[] = [
  [/(?:^|\/)gemma-4(?!b)/, { ...GEMMA, thinking: { type: 'level', levels: ['MINIMAL', 'HIGH'] } }],
  [/gemma/, GEMMA],
  [/learnlm|palm|bison/, { ...OLDER, candidates: ONE }],
  [/gemini-2\.5-.*(?:image|tts|audio|live)/, { ...GEMINI_2_5, thinking: NO_THINKING, candidates: ONE }],
  [/gemini-2\.5-flash-lite/, { ...GEMINI_2_5, thinking: budget(512, 24_576) }],
  [/gemini-2\.5-flash/, { ...GEMINI_2_5, thinking: budget(1, 24_576) }],
  [/gemini-2\.5/, { ...GEMINI_2_5, thinking: { ...budget(128, 32_768), canDisable: false } }],
  [/gemini-(?:1\.0|pro(?:-vision)?$)/, { ...OLDER, candidates: ONE }],
  [/gemini-[12](?:\.|-|$)/, OLDER],
  [/gemini-.*(?:tts|audio|live)/, { ...GEMINI_3, thinking: NO_THINKING, candidates: ONE }],
  [/gemini-3-pro-image/, { ...IMAGES_3, thinking: NO_THINKING }],
  [/gemini-.*lite-image/, { ...IMAGES_3, imageSizes: false }],
  [/gemini-.*(?:image|nano-banana)/, IMAGES_3],
  [/gemini-3-pro/, { ...FIRST_3, thinking: { type: 'level', levels: ['LOW', 'HIGH'] } }],
  [/gemini-3\.1-pro/, { ...FIRST_3, thinking: { type: 'level', levels: ['LOW', 'MEDIUM', 'HIGH'] } }],
  [/gemini-3(?:-|\.1-)/, FIRST_3],
  [/gemini-3\.5-flash(?!-lite)/, { ...GEMINI_3, prefill: true }],
  [
    /gemini-4-(?:hydrogen|neon)/,
    { ...GEMINI_3, thinking: { type: 'level', levels: ['LOW', 'MEDIUM', 'HIGH', 'XHIGH'] } },
  ],
  [
    /gemini-(?:.*pro|3\.(?:[7-9]|\d\d)-flash(?!-lite)|flash-latest|[4-9]|\d\d)/,
    { ...GEMINI_3, thinking: { type: 'level', levels: ['LOW', 'MEDIUM', 'HIGH'] } },
  ],
  [/gemini/, GEMINI_3],
]

/** What is known of a model, `models/` and `tunedModels/` in front of its name or not. */
export const modelTraits = remembered(traitsOf)

/** Whether an upstream is Google's Gemini API, and not Vertex or somebody else's server. */
export function isGeminiApi({ vendor }: Pick<Target, 'vendor'>): boolean {
  return vendor === 'generativelanguage.googleapis.com'
}

/** Whether an upstream is Google's other API of the same models, at any of its places. */
export function isVertex({ vendor }: Pick<Target, 'vendor'>): boolean {
  return /(?:^|[.-])aiplatform\.(?:[\w-]+\.rep\.)?googleapis\.com$/.test(vendor)
}

/** Fields that Google's Gemini API answers with a 400 for a model; Vertex, and whoever else serves it, may take them. */
export function refusedFields(target: Pick<Target, 'model' | 'vendor'>): readonly RefusableField[] {
  return isGeminiApi(target) ? modelTraits(target.model).refuses : []
}

/**
 * What keeps the Gemini API from keeping a request, as its projects since 26 October 2026 do unasked; Vertex does not know
 * the word. https://ai.google.dev/gemini-api/docs/logs-datasets
 */
export function unstored(target: Pick<Target, 'vendor'>): { store?: false } {
  return isGeminiApi(target) ? { store: false } : {}
}

/**
 * The most answers to a request. Of Gemini 3 and 3.1 Google's Gemini API gives one, and Vertex several; of newer ones
 * nobody has said. https://github.com/googleapis/python-genai/issues/1723 https://github.com/googleapis/js-genai/issues/1609
 */
export function maxCandidates(target: Pick<Target, 'model' | 'vendor'>): number {
  const { geminiApi, elsewhere } = modelTraits(target.model).candidates
  return isGeminiApi(target) ? geminiApi : elsewhere
}

function traitsOf(model: string): ModelTraits {
  const name = model.toLowerCase()
  return MODELS.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN
}

function budget(min: number, max: number) {
  return { type: 'budget', min, max, canDisable: true } as const
}

/** Tokens of thought that an effort stands for; models clamp it to their range. */
export const EFFORT_BUDGET: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: Number.MAX_SAFE_INTEGER,
}

const LEVEL_OF_EFFORT: Readonly<Record<Effort, ThinkingLevel>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'XHIGH',
  max: 'XHIGH',
}

/** The level for an effort: the one it names, else the next stronger that the model takes, else its strongest. */
export function levelFor(effort: Effort, levels: readonly ThinkingLevel[]): ThinkingLevel | undefined {
  const wanted = THINKING_LEVELS.indexOf(LEVEL_OF_EFFORT[effort])
  return levels.find(level => THINKING_LEVELS.indexOf(level) >= wanted) ?? levels.at(-1)
}

/** A `thinkingLevel` as an effort; level names are efforts in capitals. */
export function levelEffort(level: string): Effort | undefined {
  return asWord(EFFORTS, level.toLowerCase())
}

/** A model as it is named within a body, which is as in its path. */
export function fullName(model: string): string {
  return /^(models|tunedModels)\//.test(model) ? model : `models/${model}`
}
