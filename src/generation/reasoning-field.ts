/** The fields of a message in which vendors who speak Chat Completions take thoughts of earlier turns back. */
export const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const

/** One of them. */
export type ReasoningField = (typeof REASONING_FIELDS)[number]
