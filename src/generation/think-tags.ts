/**
 * How an open-weight model writes its thoughts into its text: `<think>...</think>` in front of the answer, or only the
 * closing tag, since its template has the opening one.
 */
export const THINK_TAGS = ['both', 'closing'] as const

/** How an upstream marks thoughts within its text. */
export type ThinkTags = (typeof THINK_TAGS)[number]
