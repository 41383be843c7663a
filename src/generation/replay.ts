import type { GenerationEvent } from './event.ts'
import type { Part } from './part.ts'
import type { GenerationResponse } from './response.ts'

/**
 * The events that tell of a whole answer, the inverse of `collect`: for a caller who asked for a stream and an
 * upstream that answered whole, and for whoever looks at an answer event by event.
 */
export function replay(response: GenerationResponse): GenerationEvent[] {
  const events: GenerationEvent[] = [
    { type: 'start', id: response.id, model: response.model, serviceTier: response.serviceTier },
  ]
  let block = 0
  for (const answer of response.candidates) {
    const { index: candidate } = answer
    const lastText = answer.parts.findLast(part => part.type === 'text')
    const logprobs: GenerationEvent[] =
      answer.logprobs.length === 0 ? [] : [{ type: 'logprobs', candidate, content: answer.logprobs }]
    for (const part of answer.parts) {
      const told = partEvents(part, block, candidate)
      // While a text that they can be about has not ended.
      if (part === lastText) told.splice(-1, 0, ...logprobs)
      events.push(...told)
      block += 1
    }
    if (lastText === undefined) events.push(...logprobs)
  }
  for (const { index: candidate, finish } of response.candidates) {
    events.push({ type: 'finish', candidate, finish })
  }
  const { usage, usageSoFar } = response
  if (usage !== undefined) events.push({ type: 'usage', usage })
  else if (usageSoFar !== undefined) events.push({ type: 'usage', usage: usageSoFar, soFar: true })
  return events
}

function partEvents(part: Part, block: number, candidate: number): GenerationEvent[] {
  switch (part.type) {
    case 'text':
      return [
        { type: 'text-start', block, candidate },
        ...(part.text === '' ? [] : [{ type: 'text-delta', block, text: part.text } as const]),
        ...part.citations.map(citation => ({ type: 'text-citation', block, citation }) as const),
        { type: 'text-end', block, signature: part.signature },
      ]
    case 'refusal':
      return [
        { type: 'refusal-start', block, candidate },
        { type: 'refusal-delta', block, text: part.text },
        { type: 'refusal-end', block },
      ]
    case 'reasoning':
      return [
        {
          type: 'reasoning-start',
          block,
          candidate,
          id: part.id,
          raw: part.raw,
          redacted: part.redacted,
        },
        ...part.texts.flatMap(
          text =>
            [
              { type: 'reasoning-paragraph', block },
              { type: 'reasoning-delta', block, text },
            ] as const,
        ),
        { type: 'reasoning-end', block, signature: part.signature },
      ]
    case 'tool-call':
      return [
        {
          type: 'tool-input-start',
          block,
          candidate,
          kind: part.kind,
          callId: part.callId,
          name: part.name,
          namespace: part.namespace,
        },
        ...(part.input === '' ? [] : [{ type: 'tool-input-delta', block, text: part.input } as const]),
        { type: 'tool-input-end', block, signature: part.signature },
      ]
    case 'media':
      return [{ type: 'media', block, candidate, media: part }]
    case 'opaque':
      return [{ type: 'opaque', block, candidate, part }]
    case 'tool-result':
      // A result belongs to a prompt; no format's answer holds one.
      return []
    default:
      return part satisfies never
  }
}
