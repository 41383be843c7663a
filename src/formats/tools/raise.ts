import type { Emit, EventOf, GenerationEvent } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'
import type { ArgumentNames } from './argument-names.ts'
import { CustomInputDecoder } from './custom-input.ts'
import type { ToolTable } from './names.ts'

/**
 * Gives an answer's calls the name, namespace, kind and names of arguments back that `lowerTools` took from the tools. The
 * text of custom tools streams as it comes. A name that is not in the table passes unchanged, and so does everything but
 * calls.
 */
export function raiseTools(table: ToolTable): StreamMachine<GenerationEvent, GenerationEvent> {
  return new ToolRaiser(table)
}

class ToolRaiser implements StreamMachine<GenerationEvent, GenerationEvent> {
  readonly #table: ToolTable
  /** Open calls whose input the caller is told otherwise, by block. */
  readonly #decoders = new Map<number, InputDecoder>()

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
        return tell(event.block, event.text, decoder.push(event.text), emit)
      }
      case 'tool-input-end': {
        const decoder = this.#decoders.get(event.block)
        this.#decoders.delete(event.block)
        if (decoder !== undefined) tell(event.block, '', decoder.end(), emit)
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
    if (event.kind !== 'function') return event
    const origin = this.#table.origins.get(event.name)
    const names = this.#table.argumentNames.get(event.name)
    if (names !== undefined) this.#decoders.set(event.block, new ArgumentsDecoder(names))
    else if (origin?.kind === 'custom') this.#decoders.set(event.block, new CustomInputDecoder())
    if (origin === undefined) return event
    return { ...event, kind: origin.kind, name: origin.name, namespace: origin.namespace }
  }
}

/** Makes of a call's input, while it streams, what the caller is told. */
interface InputDecoder {
  push(piece: string): string
  /** What was held back when the input ended. */
  end(): string
}

/** Gives arguments their own names back: all together, since a name may be spelled with escapes and stand anywhere. */
class ArgumentsDecoder implements InputDecoder {
  readonly #names: ArgumentNames
  #held = ''

  constructor(names: ArgumentNames) {
    this.#names = names
  }

  push(piece: string): string {
    this.#held += piece
    return ''
  }

  end(): string {
    return this.#names.restore(this.#held)
  }
}

/** @param came of the call's input @param told of what has come of it */
function tell(block: number, came: string, told: string, emit: Emit): void {
  const bytes = Buffer.byteLength(came) - Buffer.byteLength(told)
  if (bytes !== 0) emit({ type: 'withheld', bytes })
  if (told !== '') emit({ type: 'tool-input-delta', block, text: told })
}
