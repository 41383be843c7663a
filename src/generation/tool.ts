import type { JsonObject } from '@/json/json.ts'
import type { Format } from './format.ts'
import type { CacheMark, ToolCallKind } from './part.ts'

/** A tool called with JSON arguments that fit a JSON Schema. Every format has this kind. */
export interface FunctionTool {
  type: 'function'
  name: string
  /** Responses' tool groups. The full identity of a tool is namespace and name. */
  namespace: string | undefined
  /** Never empty, which AWS and Azure refuse. */
  description: string | undefined
  /** JSON Schema of the arguments; undefined when the function takes none. */
  parameters: JsonObject | undefined
  /** Whether the vendor must hold the model to the schema; undefined is the source's silence. */
  strict: boolean | undefined
  cache: CacheMark | undefined
}

/** A tool called with free text (Responses' `custom`). */
export interface CustomTool {
  type: 'custom'
  name: string
  namespace: string | undefined
  description: string | undefined
  /** What the text must look like; undefined is any text. */
  grammar: { syntax: 'lark' | 'regex'; definition: string } | undefined
}

/**
 * A tool kind that has a type of its own and that the *client* executes: Responses' `local_shell`, `shell`, typed
 * `apply_patch`, client-side `tool_search`; Anthropic's `bash_…`, `text_editor_…`, `memory_…`.
 * Never dropped: an agent that loses one falls silent.
 */
export interface ClientTool {
  type: 'client'
  /** How its calls are written in its own format; Anthropic's are plain tool_use blocks (`function`). */
  kind: ToolCallKind
  /** The name the model calls it by (`local_shell`, `bash`, `str_replace_based_edit_tool`). */
  name: string
  format: Format
  /** Its versioned wire type (`bash_20250124`). */
  wireType: string
  /** The whole definition as the caller wrote it. */
  wire: JsonObject
}

/** What a hosted tool does, in no vendor's words; `other` is one that only its own vendor has. */
export type HostedToolKind = 'web_search' | 'web_fetch' | 'code_execution' | 'file_search' | 'other'

/** A tool that the *vendor's server* executes. Mapped where the target has the same, else a declared loss. */
export interface HostedTool {
  type: 'hosted'
  kind: HostedToolKind
  format: Format
  /** Its wire type (`web_search_20250305`, `googleSearch`, `mcp`), for reports and for its own format. */
  wireType: string
  wire: JsonObject
  webSearch: WebSearch | undefined
}

/** Web search settings that more than one format has. */
export interface WebSearch {
  maxUses: number | undefined
  allowedDomains: readonly string[]
  blockedDomains: readonly string[]
  userLocation: JsonObject | undefined
  /** How much of what was found the model reads (OpenAI's `low`, `medium`, `high`). */
  contextSize: string | undefined
}

/** Something that the model may call, by who runs it and what its input is. */
export type Tool = FunctionTool | CustomTool | ClientTool | HostedTool

/** Which tool the model must, may or must not call. */
export type ToolChoice =
  | { type: 'auto' }
  | { type: 'none' }
  /** Some tool, the model chooses which. */
  | { type: 'required' }
  | {
      type: 'tool'
      name: string
      namespace: string | undefined
      kind: ToolCallKind | { hosted: HostedToolKind; wireType: string }
    }
  /** Only these, with the force of `mode`. */
  | {
      type: 'allowed'
      mode: 'auto' | 'required'
      tools: readonly { name: string; namespace: string | undefined }[]
    }
