import type { Emit, EventOf, GenerationEvent } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'
import { CustomInputDecoder } from './custom-input.ts'
import type { ToolTable } from './names.ts'

/**
 * Gives an answer's calls the name, namespace and kind back that `lowerTools` took from the tools. The text of custom
 * tools streams as it comes. A name that is not in the table passes unchanged, and so does everything but calls.
 */
export function raiseTools(table: ToolTable): StreamMachine<GenerationEvent, GenerationEvent> {
  return new ToolRaiser(table)
}

class ToolRaiser implements StreamMachine<GenerationEvent, GenerationEvent> {
  readonly #table: ToolTable
  /** Open calls of custom tools, by block. */
  readonly #decoders = new Map<number, CustomInputDecoder>()

  constructor(table: ToolTable) {
    this.#table = table
  }

  push(event: GenerationEvent, emit: Emit): void {
    switch (event.type) {
      case 'tool-input-start':
        return emit(this.#start(event))
      case 'tool-input-delta': {
        const decoder = this.#decoders.get(event.block)
        if (decoder === undefined) return emit(event)
        return emitText(event.block, decoder.push(event.text), emit)
      }
      case 'tool-input-end': {
        const decoder = this.#decoders.get(event.block)
        this.#decoders.delete(event.block)
        if (decoder !== undefined) emitText(event.block, decoder.end(), emit)
        return emit(event)
      }
      default:
        return emit(event)
    }
  }

  end(): void {
    this.#decoders.clear()
  }

  #start(event: EventOf<'tool-input-start'>): GenerationEvent {
    const origin = event.kind === 'function' ? this.#table.origins.get(event.name) : undefined
    if (origin === undefined) return event
    if (origin.kind === 'custom') this.#decoders.set(event.block, new CustomInputDecoder())
    return { ...event, kind: origin.kind, name: origin.name, namespace: origin.namespace }
  }
}

function emitText(block: number, text: string, emit: Emit): void {
  if (text !== '') emit({ type: 'tool-input-delta', block, text })
}
