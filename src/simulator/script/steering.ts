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
  const steering: Steering = {
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
  const name = model.slice(model.lastIndexOf('/') + 1)
  return name.split('+').every(word => applyWord(steering, word)) ? steering : undefined
}

function applyWord(steering: Steering, word: string): boolean {
  const numbered = /^(long|slow|pace|cut|split|error)-(\d{1,9})$/.exec(word)
  if (numbered !== null) return applyNumber(steering, numbered[1] ?? '', Number(numbered[2]))
  switch (word) {
    case 'echo':
      return true
    case 'tool':
    case 'parallel':
    case 'image':
    case 'refuse':
    case 'filter':
    case 'json':
      steering.answer = word
      return true
    case 'reason':
      steering.reasons = true
      return true
    case 'error-first':
      steering.errorAt = 'first'
      return true
    case 'error-midstream':
      steering.errorAt = 'midstream'
      return true
    case 'nousage':
      steering.reportsUsage = false
      return true
    case 'garbage':
      steering.garbage = true
      return true
    case 'hang':
      steering.hangs = true
      return true
    default:
      return false
  }
}

function applyNumber(steering: Steering, word: string, value: number): boolean {
  switch (word) {
    case 'long':
      steering.answer = 'long'
      steering.length = value
      return true
    case 'slow':
      steering.slowMs = value
      return true
    case 'pace':
      steering.paceMs = value
      return true
    case 'cut':
      steering.cutAfter = value
      return true
    case 'split':
      steering.splitBytes = Math.max(1, value)
      return true
    default:
      steering.errorStatus = value
      return value >= 400 && value <= 599
  }
}
