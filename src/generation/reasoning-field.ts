/** The fields of a message in which vendors who speak Chat Completions take thoughts of earlier turns back. */
export const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const

/** Where a channel takes thoughts of earlier turns back. */
export type ReasoningField = (typeof REASONING_FIELDS)[number]
