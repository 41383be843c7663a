import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import type { Losses } from '@/formats/losses.ts'
import type { Part } from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import { isJsonObject } from '@/json/json.ts'

/** Whether a part is told to this API, thoughts aside. */
export function isSpoken(part: Part): boolean {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.trim() !== ''
    case 'opaque':
      return part.format === FORMAT && isJsonObject(part.value)
    case 'reasoning':
      return false
    default:
      return true
  }
}

/**
 * The turns that say something to this API, and of what the assistant says in a row nothing behind its last word or call:
 * a message that ends in a thought is refused. Such a thought is what is left of an answer that was broken off.
 */
export function spokenTurns(turns: readonly Turn[], losses: Losses): Turn[] {
  const spoken: Turn[] = []
  let goesOn = false
  for (const turn of turns.toReversed()) {
    const { role, parts } = turn
    const isKept = role === 'assistant' && goesOn
    const end = isKept ? parts.length : parts.findLastIndex(isSpoken) + 1
    for (const part of parts.slice(end)) loseUnspoken(part, losses)
    if (end === 0) continue
    spoken.push(end === parts.length ? turn : { role, parts: parts.slice(0, end) })
    goesOn = role === 'assistant'
  }
  return spoken.reverse()
}

function loseUnspoken(part: Part, losses: Losses): void {
  if (part.type === 'opaque') losses.add('extension', part.name)
  else if (part.type === 'reasoning') losses.add('reasoningHistory')
}
