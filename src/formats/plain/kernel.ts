import { readFileSync } from 'node:fs'

/** What stands in a place that differs from event to event. */
export type Hole = 'text' | 'string' | 'count'

/** What plain events have in common: one piece more than there are holes between them. */
export interface FrameParts {
  pieces: readonly Uint8Array[]
  holes: readonly Hole[]
  /** The first and last piece that a usage is in, and where in them it begins and ends. */
  usage: { from: number; start: number; to: number; end: number } | undefined
}

/** What stands around a text in the caller's events; between number and text where they are numbered. */
export interface Surroundings {
  before: string
  between: string | undefined
  after: string
  /** True when every event holds the last character of its text back for the next. */
  holdsBack: boolean
}

/** What wasm/plain-events.ts exports. */
interface KernelExports {
  memory: WebAssembly.Memory
  TEMPLATE: WebAssembly.Global
  TEMPLATE_BYTES: WebAssembly.Global
  EVENTS: WebAssembly.Global
  EVENTS_BYTES: WebAssembly.Global
  SAID: WebAssembly.Global
  OUTPUT: WebAssembly.Global
  RESULT: WebAssembly.Global
  takeEvents(length: number, number: number, held: number): number
}

/** Safe: tests compile the module's source, and it exports these. */
function kernelExports(): KernelExports {
  const module = new WebAssembly.Module(readFileSync(new URL('./wasm/plain-events.wasm', import.meta.url)))
  return new WebAssembly.Instance(module).exports as unknown as KernelExports
}

const { memory, takeEvents, ...places } = kernelExports()
const view = new Uint8Array(memory.buffer)
const bytes = Buffer.from(memory.buffer)
const TEMPLATE = Number(places.TEMPLATE.value)
const TEMPLATE_BYTES = Number(places.TEMPLATE_BYTES.value)
const EVENTS = Number(places.EVENTS.value)
const EVENTS_BYTES = Number(places.EVENTS_BYTES.value)
const SAID = Number(places.SAID.value)
const OUTPUT = Number(places.OUTPUT.value)
const RESULT = Number(places.RESULT.value)

/** Numbers of a template before those of its pieces, and the numbers of a piece, as the module reads them. */
const HEAD_NUMBERS = 12
const PIECE_NUMBERS = 3

const MANNERS = { listening: 0, writing: 1, numbering: 2, holding: 3 } as const
const HOLE_KINDS: Readonly<Record<Hole, number>> = { text: 0, string: 1, count: 2 }

/** A frame and what its texts are put into, as the module wants it. */
export type PlainTemplate = Uint8Array

/** A template that nothing is written with: its events are read alone. Undefined when it has no room. */
export function listeningTemplate({ pieces, holes, usage }: FrameParts): PlainTemplate | undefined {
  const count = HEAD_NUMBERS + PIECE_NUMBERS * pieces.length
  const template = Buffer.concat([Buffer.alloc(4 * count), ...pieces])
  if (template.length > TEMPLATE_BYTES) return undefined
  let end = 4 * count
  const numbers = [
    holes.length,
    ...[0, 0, 0, 0, 0, 0],
    MANNERS.listening,
    ...(usage === undefined ? [-1, 0, -1, 0] : [usage.from, usage.start, usage.to, usage.end]),
    ...pieces.flatMap(({ length }, index) => {
      end += length
      return [TEMPLATE + end - length, length, HOLE_KINDS[holes[index] ?? 'text']]
    }),
  ]
  for (const [index, number] of numbers.entries()) template.writeInt32LE(number, 4 * index)
  return template
}

/** Where among a template's numbers the surroundings are, and the manner of writing. */
const BEFORE_NUMBER = 1
const MANNER_NUMBER = 7

/**
 * What was written last for each frame. Where the caller's events name nothing that is their stream's own (Messages), that
 * is the template of all streams of a model, and stays loaded from the event of one to that of the next.
 */
const lastWritten = new WeakMap<PlainTemplate, { surroundings: Surroundings; template: PlainTemplate }>()

/** A template that reads the same events and writes them with these surroundings; undefined when it has no room. */
export function writingTemplate(
  listening: PlainTemplate,
  surroundings: Surroundings,
): PlainTemplate | undefined {
  const last = lastWritten.get(listening)
  if (last !== undefined && isSame(last.surroundings, surroundings)) return last.template
  const template = makeWriting(listening, surroundings)
  if (template !== undefined) lastWritten.set(listening, { surroundings, template })
  return template
}

function isSame(one: Surroundings, other: Surroundings): boolean {
  return (
    one.before === other.before &&
    one.between === other.between &&
    one.after === other.after &&
    one.holdsBack === other.holdsBack
  )
}

function makeWriting(
  listening: PlainTemplate,
  { before, between, after, holdsBack }: Surroundings,
): PlainTemplate | undefined {
  const texts = [before, between ?? '', after]
  const length = texts.reduce((sum, text) => sum + Buffer.byteLength(text), listening.length)
  if (length > TEMPLATE_BYTES) return undefined
  const template = Buffer.allocUnsafeSlow(length)
  template.set(listening)
  let end = listening.length
  for (const [index, text] of texts.entries()) {
    const at = 4 * (BEFORE_NUMBER + 2 * index)
    const written = template.write(text, end)
    template.writeInt32LE(TEMPLATE + end, at)
    template.writeInt32LE(written, at + 4)
    end += written
  }
  const unnumbered = holdsBack ? 'holding' : 'writing'
  const manner = between === undefined ? unnumbered : 'numbering'
  template.writeInt32LE(MANNERS[manner], 4 * MANNER_NUMBER)
  return template
}

/**
 * The character that a text ends with and that is held back for the next event, as JSON escapes it: its bytes, the first
 * the lowest. NOTHING_HELD is none.
 */
export type Held = number

/** No character is held back. */
export const NOTHING_HELD: Held = 0

/** @param spelled one character as JSON.stringify writes it, without its quotes */
export function heldOf(spelled: string): Held {
  return Buffer.from(spelled).reduceRight((sum, byte) => sum * 256 + byte, NOTHING_HELD)
}

/** What a run of the module came to. Good until the next. */
export interface PlainRun {
  /** How many events were taken, and where the last one ends. */
  readonly events: number
  readonly end: number
  /** What they said together: how long it is in UTF-16 units and in UTF-8, and the text, which is made when asked for. */
  readonly length: number
  readonly bytes: number
  readonly text: string
  /** What is held back of it, where something is. */
  readonly held: Held
  /** Where in the input the usage of the last event stands; the start is -1 when it has none. */
  readonly usageStart: number
  readonly usageEnd: number
  /** The caller's events, in memory of their own. */
  output(): Uint8Array
  /** Writes what was said into a buffer that has room for it. */
  copyText(target: Uint8Array, at: number): void
}

/**
 * Takes the plain events of a template that stand in some bytes, or the first of them where they are many.
 *
 * @param number of the first event, where they are numbered
 * @param held what the first event's text begins with, where something is held back
 */
export function takePlain(
  template: PlainTemplate,
  input: Uint8Array,
  start: number,
  number: number,
  held: Held,
): PlainRun {
  const most = start + EVENTS_BYTES
  const isAll = start === 0 && input.length <= most
  if (loaded !== template) {
    bytes.set(template, TEMPLATE)
    loaded = template
  }
  bytes.set(isAll ? input : input.subarray(start, most), EVENTS)
  const length = Math.min(input.length - start, EVENTS_BYTES)
  run.start = start
  run.end = start + takeEvents(length, number, held)
  return run
}

let loaded: PlainTemplate | undefined

/** Where among them the numbers stand that a run comes to, as the module writes them. */
const RESULTS = { written: 0, saidBytes: 1, saidUnits: 2, usageStart: 3, usageEnd: 4, count: 5 } as const
const results = new Int32Array(memory.buffer, RESULT, 6)
/** The same of what is held. */
const heldResult = new Float64Array(memory.buffer, RESULT + results.byteLength, 1)

function result(name: keyof typeof RESULTS): number {
  return results[RESULTS[name]] ?? 0
}

class LastRun implements PlainRun {
  start = 0
  end = 0

  get events(): number {
    return result('count')
  }

  get length(): number {
    return result('saidUnits')
  }

  get bytes(): number {
    return result('saidBytes')
  }

  get text(): string {
    return bytes.toString('utf8', SAID, SAID + this.bytes)
  }

  get held(): Held {
    return heldResult[0] ?? NOTHING_HELD
  }

  get usageStart(): number {
    const start = result('usageStart')
    return start < 0 ? -1 : this.start + start
  }

  get usageEnd(): number {
    return this.start + result('usageEnd')
  }

  output(): Uint8Array {
    return view.slice(OUTPUT, OUTPUT + result('written'))
  }

  copyText(target: Uint8Array, at: number): void {
    bytes.copy(target, at, SAID, SAID + this.bytes)
  }
}

const run = new LastRun()
