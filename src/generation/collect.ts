import type { JsonValue } from '@/json/json.ts'
import type { EventOf, GenerationEvent } from './event.ts'
import { type Part, reasoningPart, textPart } from './part.ts'
import type { Candidate, Finish, GenerationResponse } from './response.ts'

/** A part under construction, with the candidate it belongs to. */
interface OpenPart {
  candidate: number
  part: Part
}

/** Folds events into the answer they tell of. An answer cut short keeps what it had, finished as `other`. */
export class Collector {
  #id: string | undefined
  #model: string | undefined
  #serviceTier: string | undefined
  #usage: EventOf<'usage'> | undefined
  readonly #parts = new Map<number, OpenPart>()
  readonly #finishes = new Map<number, Finish>()
  readonly #logprobs = new Map<number, JsonValue[]>()

  push(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        this.#id = event.id
        this.#model = event.model
        this.#serviceTier = event.serviceTier
        return
      case 'text-start':
        return this.#open(event, textPart(''))
      case 'text-delta':
        return this.#edit(event.block, 'text', part => ({ ...part, text: part.text + event.text }))
      case 'text-citation':
        return this.#edit(event.block, 'text', part => ({
          ...part,
          citations: [...part.citations, event.citation],
        }))
      case 'text-end':
        return this.#edit(event.block, 'text', part => ({ ...part, signature: event.signature }))
      case 'refusal-start':
        return this.#open(event, { type: 'refusal', text: '' })
      case 'refusal-delta':
        return this.#edit(event.block, 'refusal', part => ({ ...part, text: part.text + event.text }))
      case 'refusal-end':
        return
      case 'reasoning-start':
        return this.#open(event, reasoningPart({ id: event.id, raw: event.raw, redacted: event.redacted }))
      case 'reasoning-paragraph':
        return this.#edit(event.block, 'reasoning', part => ({ ...part, texts: [...part.texts, ''] }))
      case 'reasoning-delta':
        return this.#edit(event.block, 'reasoning', part => ({
          ...part,
          texts: [...part.texts.slice(0, -1), (part.texts.at(-1) ?? '') + event.text],
        }))
      case 'reasoning-end':
        return this.#edit(event.block, 'reasoning', part => ({ ...part, signature: event.signature }))
      case 'tool-input-start':
        return this.#open(event, {
          type: 'tool-call',
          kind: event.kind,
          callId: event.callId,
          name: event.name,
          namespace: event.namespace,
          input: '',
          signature: undefined,
          cache: undefined,
        })
      case 'tool-input-delta':
        return this.#edit(event.block, 'tool-call', part => ({ ...part, input: part.input + event.text }))
      case 'tool-input-end':
        return this.#edit(event.block, 'tool-call', part => ({ ...part, signature: event.signature }))
      case 'media':
        return this.#open(event, event.media)
      case 'opaque':
        return this.#open(event, event.part)
      case 'logprobs': {
        const known = this.#logprobs.get(event.candidate)
        if (known === undefined) this.#logprobs.set(event.candidate, [...event.content])
        else known.push(...event.content)
        return
      }
      case 'usage':
        this.#usage = event
        return
      case 'finish':
        this.#finishes.set(event.candidate, event.finish)
        return
      case 'withheld':
      case 'error':
        return
      default:
        event satisfies never
    }
  }

  response(): GenerationResponse {
    const indexes = new Set(this.#finishes.keys())
    for (const open of this.#parts.values()) indexes.add(open.candidate)
    if (indexes.size === 0) indexes.add(0)
    const candidates = [...indexes].sort((a, b) => a - b).map(index => this.#candidate(index))
    return {
      id: this.#id,
      model: this.#model,
      candidates,
      ...(this.#usage?.soFar === true
        ? { usage: undefined, usageSoFar: this.#usage.usage }
        : { usage: this.#usage?.usage }),
      serviceTier: this.#serviceTier,
    }
  }

  #candidate(index: number): Candidate {
    const parts: Part[] = []
    for (const [, open] of [...this.#parts].sort(([a], [b]) => a - b)) {
      if (open.candidate === index) parts.push(open.part)
    }
    return {
      index,
      parts,
      finish: this.#finishes.get(index) ?? { reason: 'other', stopSequence: undefined, message: undefined },
      logprobs: this.#logprobs.get(index) ?? [],
    }
  }

  #open(at: { block: number; candidate: number }, part: Part): void {
    this.#parts.set(at.block, { candidate: at.candidate, part })
  }

  #edit<T extends Part['type']>(
    block: number,
    type: T,
    edit: (part: Extract<Part, { type: T }>) => Part,
  ): void {
    const open = this.#parts.get(block)
    if (open === undefined || open.part.type !== type) return
    // The type tag was compared on the line above; Extract only says the same to the compiler.
    open.part = edit(open.part as Extract<Part, { type: T }>)
  }
}

/** The answer that these events tell of. */
export function collect(events: Iterable<GenerationEvent>): GenerationResponse {
  const collector = new Collector()
  for (const event of events) collector.push(event)
  return collector.response()
}
