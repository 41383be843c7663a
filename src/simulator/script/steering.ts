/** What a model name asks of the simulator. Several words joined by `+` add up: `pace-50+long-20`. */
export interface Steering {
  /** What the answer is made of. */
  answer: Answer
  /** True: thinking comes first (`reason`). */
  reasons: boolean
  /** Words of a `long-N` answer. */
  length: number
  /** Milliseconds before the first byte (`slow-MS`). */
  slowMs: number
  /** Milliseconds between events (`pace-MS`). */
  paceMs: number
  /** Events after which the connection is dropped (`cut-N`). */
  cutAfter: number | undefined
  /** Bytes per write (`split-N`). */
  splitBytes: number | undefined
  /** The HTTP status to fail with (`error-STATUS`). */
  errorStatus: number | undefined
  /** Where an answer with status 200 fails (`error-first`, `error-midstream`). */
  errorAt: 'first' | 'midstream' | undefined
  /** False: no usage is reported (`nousage`). */
  reportsUsage: boolean
  /** True: bytes that are neither an event stream nor JSON (`garbage`). */
  garbage: boolean
  /** True: no answer ever comes (`hang`). */
  hangs: boolean
}

/** What an answer is made of; each is a word of the model's name. */
type Answer = 'echo' | 'tool' | 'parallel' | 'image' | 'refuse' | 'filter' | 'long' | 'json'

/** Model names for the lists; the numbers are examples. */
export const MODEL_NAMES = [
  'echo',
  'reason',
  'tool',
  'parallel',
  'image',
  'refuse',
  'filter',
  'json',
  'long-100',
  'slow-1000',
  'pace-50',
  'cut-3',
  'error-429',
  'error-midstream',
  'error-first',
  'nousage',
  'split-7',
  'garbage',
  'hang',
] as const

/** Reads the last `/` segment of a model id; undefined when the simulator does not know a word of it. */
export function readSteering(model: string): Steering | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1)
  let steering = PLAIN
  for (const word of name.split('+')) {
    const asked = askedBy(word)
    if (asked === undefined) return undefined
    steering = { ...steering, ...asked }
  }
  return steering
}

/** What no word asks to be otherwise. */
const PLAIN: Steering = {
  answer: 'echo',
  reasons: false,
  length: 0,
  slowMs: 0,
  paceMs: 0,
  cutAfter: undefined,
  splitBytes: undefined,
  errorStatus: undefined,
  errorAt: undefined,
  reportsUsage: true,
  garbage: false,
  hangs: false,
}

const WORDS: ReadonlyMap<string, Partial<Steering>> = new Map<string, Partial<Steering>>([
  ['echo', {}],
  ['tool', { answer: 'tool' }],
  ['parallel', { answer: 'parallel' }],
  ['image', { answer: 'image' }],
  ['refuse', { answer: 'refuse' }],
  ['filter', { answer: 'filter' }],
  ['json', { answer: 'json' }],
  ['reason', { reasons: true }],
  ['error-first', { errorAt: 'first' }],
  ['error-midstream', { errorAt: 'midstream' }],
  ['nousage', { reportsUsage: false }],
  ['garbage', { garbage: true }],
  ['hang', { hangs: true }],
])

/** Undefined: no word of the simulator's. */
function askedBy(word: string): Partial<Steering> | undefined {
  const [, name, digits] = /^(long|slow|pace|cut|split|error)-(\d{1,9})$/.exec(word) ?? []
  const number = Number(digits)
  switch (name) {
    case 'long':
      return { answer: 'long', length: number }
    case 'slow':
      return { slowMs: number }
    case 'pace':
      return { paceMs: number }
    case 'cut':
      return { cutAfter: number }
    case 'split':
      return { splitBytes: Math.max(1, number) }
    case 'error':
      return number >= 400 && number <= 599 ? { errorStatus: number } : undefined
    default:
      return WORDS.get(word)
  }
}
