import type {
  Candidate,
  Content,
  FinishReason,
  FunctionCall,
  GenerateContentResponse,
  GenerationConfig,
  Part,
  Schema,
  Tool,
  ToolConfig,
} from '@google/genai'
import type { JsonValue } from '@/json/json.ts'

/** This format's name, for signatures and extensions. */
export const FORMAT = 'gemini-generate-content'

/** Where a conversation holds a tool's own data. */
export const DATA_KEYS: ReadonlySet<string> = new Set([
  ...['args', 'partialArgs', 'response', 'parameters'],
  ...['parametersJsonSchema', 'parameters_json_schema'],
  ...['responseSchema', 'response_schema', 'responseJsonSchema', 'response_json_schema', 'schema'],
])

/** The SDK's keys with JSON values: a key that the vendor renames becomes a compile error here. */
type Wire<T> = { [K in keyof T]?: JsonValue | undefined }

/** What requests and answers are made of, under the API's own names. */
export type WireContent = Omit<Wire<Content>, 'parts'> & { parts: WirePart[] }
export type WirePart = Wire<Part>
export type WireFunctionCall = Wire<FunctionCall>
export type WireCandidate = Wire<Candidate>
export type WireTool = Wire<Tool>
export type WireToolConfig = Wire<ToolConfig>
export type WireGenerationConfig = Wire<GenerationConfig>
export type WireSchema = Wire<Schema>

/** The SDK's class has getters beside its fields; those are not on the wire. */
export type WireResponse = Wire<
  Pick<
    GenerateContentResponse,
    'candidates' | 'promptFeedback' | 'usageMetadata' | 'modelVersion' | 'responseId'
  >
>

/** Why an answer ended; these are in the public proto, and in the SDK from 3.3 on. */
export type WireFinishReason =
  | `${FinishReason}`
  | 'MODEL_ARMOR'
  | 'MISSING_THOUGHT_SIGNATURE'
  | 'ESCALATION'
  | 'PUP_LIMITED_DISABLED'
