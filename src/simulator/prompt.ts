import type { JsonObject } from '@/json/json.ts'

/** What the simulator needs to know of a request, in no vendor's words; each format's `validate.ts` reads it. */
export interface Prompt {
  /** The model id as asked for. */
  model: string
  stream: boolean
  /** System text, tool definitions and turns in the order in which a vendor caches them. */
  segments: Segment[]
  /** The texts of the last user message, joined by line breaks. */
  lastUserText: string
  /** The tool results since the last assistant turn; user text beside them changes nothing. */
  toolResults: string[]
  tools: OfferedTool[]
  toolChoice: ToolChoice
  /** False: at most one tool call in an answer. */
  parallelCalls: boolean
  /** Counts reasoning, text and tool input, as the vendors do. */
  maxTokens: number | undefined
  stopSequences: string[]
  /** Answers wanted: n, candidateCount. */
  choices: number
  /** Alternatives per token; undefined: no log probabilities are wanted. */
  topLogprobs: number | undefined
  /** The schema that the answer must fit; `any-object` for a JSON mode without a schema. */
  output: JsonObject | 'any-object' | undefined
  /** `off`: no thinking; `hidden`: it happens, but its text is not shown. */
  reasoning: 'shown' | 'hidden' | 'off'
}

/** A piece of the prompt; a cache can end only between two of them. */
export interface Segment {
  text: string
  /** Images, sounds and files in it. */
  media: number
  /** A cache mark at its end, with its time to live. */
  mark: '5m' | '1h' | undefined
}

/** A tool that the model may call. */
export interface OfferedTool {
  name: string
  /** The group that Responses' namespace tools live in. */
  namespace?: string | undefined
  /** `custom` takes free text instead of JSON. */
  kind: 'function' | 'custom'
  /** JSON Schema of the input; types may be in capitals (Gemini). */
  schema: JsonObject
}

/** Whether the model may call a tool, or must. */
export interface ToolChoice {
  mode: 'auto' | 'none' | 'required'
  /** The names it may choose from; undefined: all of them. */
  allowed: string[] | undefined
}

/** Adds a text to what the model is told. */
export function addText(prompt: Prompt, text: string, mark?: Segment['mark']): void {
  prompt.segments.push({ text, media: 0, mark })
}

/** Adds an image, a sound or a file to what the model is told. */
export function addMedium(prompt: Prompt, mark?: Segment['mark']): void {
  prompt.segments.push({ text: '', media: 1, mark })
}

/** A prompt that asks for nothing special; readers overwrite what their request says. */
export function emptyPrompt(model: string, stream: boolean): Prompt {
  return {
    model,
    stream,
    segments: [],
    lastUserText: '',
    toolResults: [],
    tools: [],
    toolChoice: { mode: 'auto', allowed: undefined },
    parallelCalls: true,
    maxTokens: undefined,
    stopSequences: [],
    choices: 1,
    topLogprobs: undefined,
    output: undefined,
    reasoning: 'shown',
  }
}
