import type { JsonObject } from '@/json/json.ts'

/** One message under construction. */
export interface Entry {
  role: 'user' | 'assistant' | 'system'
  blocks: JsonObject[]
}
