import { EFFORTS, type Effort } from '@/generation/request.ts'
import { asArray, asObject, asWord, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * The effort that system messages set for the coming answer, in place of the request's own; undefined: none does. One that
 * follows words of the user's is for their answer, any other for the words that come next, and each holds until another
 * is set. Claude Code writes them. https://platform.claude.com/docs/en/build-with-claude/effort-per-message
 */
export function turnEffort(messages: readonly JsonValue[]): Effort | undefined {
  let set: Effort | undefined
  let inForce: Effort | undefined
  let followsWords = false
  for (const value of messages) {
    const message = asObject(value) ?? {}
    if (message['role'] === 'system')
      set = asWord(EFFORTS, asObject(message['output_config'])?.['effort']) ?? set
    else followsWords = saysWords(message)
    if (followsWords) inForce = set
  }
  return inForce
}

/** Results of tools alone are no words of the user's. */
function saysWords({ role, content }: JsonObject): boolean {
  if (role !== 'user') return false
  return (
    typeof content === 'string' || asArray(content).some(block => asObject(block)?.['type'] !== 'tool_result')
  )
}
