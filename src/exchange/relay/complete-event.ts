import { parseJson } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'

/**
 * Whether an event that lacks its empty line is one, and not the half of it that came. Any JSON will do: Gemini wraps an
 * error in an array at times.
 */
export function isComplete({ data }: SseEvent): boolean {
  if (data.trim() === '[DONE]') return true
  try {
    parseJson(data)
    return true
  } catch {
    return false
  }
}
