/** Hosts of vendors, or their short names, for those of whom both vendors.ts and vendor-models.ts tell. */
export const GROQ = /(?:^|\.)groq\.com$/
export const MISTRAL = /(?:^|\.)mistral\.ai$/
export const MOONSHOT = /^moonshot$|(?:^|\.)(?:moonshot\.(?:ai|cn)|kimi\.com)$/
export const ZAI = /(?:^|\.)(?:z\.ai|bigmodel\.cn)$/
