/**
 * Everything of a request that a target format may be unable to say. A codec's `fieldNames` spells each one as its
 * own format does, so that a loss is reported in the caller's words whatever the target was.
 */
export type RequestField =
  | 'instructions'
  | 'tools'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'output'
  | 'verbosity'
  | 'reasoning'
  | 'reasoningEffort'
  | 'reasoningBudget'
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'stop'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'logitBias'
  | 'logprobs'
  | 'candidates'
  | 'modalities'
  | 'user'
  | 'metadata'
  | 'promptCacheKey'
  | 'serviceTier'
  | 'store'
  | 'cacheMark'
  | 'toolStrict'
  | 'outputStrict'
  | 'imageDetail'
  | 'filename'
  | 'documentTitle'
  | 'documentContext'
  | 'citations'
  | 'media'
  | 'mediaAddress'
  | 'reasoningHistory'
  | 'toolResultError'

/** One thing of the request that did not reach the upstream as the caller said it. */
export interface Loss {
  /** A neutral field, or (in `name`) a wire name of the caller's own format when the neutral model has none. */
  field: RequestField | 'extension'
  /** What exactly: the extension's key, the tool's wire type. Undefined when the field says it all. */
  name: string | undefined
}
