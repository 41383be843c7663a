/** DeepSeek's hosts, and its short name; it speaks three of the formats, and minds its thoughts in each of them. */
export const DEEPSEEK = /^deepseek$|(?:^|\.)deepseek\.com$/
