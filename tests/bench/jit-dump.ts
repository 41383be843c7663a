/** A function as JavaScriptCore compiled it, and where it stood in memory. */
interface Compiled {
  start: number
  end: number
  name: string
}

const MAGIC = 0x4a695444
const CODE_LOAD = 0
/** Of a record: its kind, its size and when it was written. */
const HEAD_BYTES = 16
/** Of compiled code, up to its name: process, thread, two addresses, size and number. */
const CODE_BYTES = 40

/**
 * What stood where in the memory of a process, from the file that JavaScriptCore writes with `BUN_JSC_useJITDump=1`. Where
 * code took the place of other code, the later counts.
 * https://github.com/torvalds/linux/blob/master/tools/perf/Documentation/jitdump-specification.txt
 */
export class JitDump {
  /** By address, no two of which overlap. */
  readonly #code: Compiled[] = []

  /** @throws Error for what is no such file */
  constructor(bytes: Uint8Array) {
    for (const compiled of readCode(bytes)) {
      const first = this.#firstBehind(compiled.start)
      let last = first
      while ((this.#code[last]?.start ?? Number.POSITIVE_INFINITY) < compiled.end) last += 1
      this.#code.splice(first, last - first, compiled)
    }
  }

  /** The name of the function that an address is in; undefined: none of JavaScript's. */
  nameAt(address: number): string | undefined {
    const found = this.#code[this.#firstBehind(address)]
    return found !== undefined && found.start <= address ? found.name : undefined
  }

  /** The place of the first function that ends behind an address. */
  #firstBehind(address: number): number {
    let [low, high] = [0, this.#code.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#code[middle]?.end ?? 0) <= address) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** In the order in which it was written. */
function* readCode(bytes: Uint8Array): Generator<Compiled> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length < HEAD_BYTES || view.getUint32(0, true) !== MAGIC) throw new Error('no jitdump file')
  let at = view.getUint32(8, true)
  while (at + HEAD_BYTES <= bytes.length) {
    const size = view.getUint32(at + 4, true)
    // Whoever still writes may have written half a record.
    if (size < HEAD_BYTES || at + size > bytes.length) return
    if (view.getUint32(at, true) === CODE_LOAD) yield codeAt(view, bytes, at + HEAD_BYTES)
    at += size
  }
}

function codeAt(view: DataView, bytes: Uint8Array, at: number): Compiled {
  const start = Number(view.getBigUint64(at + 16, true))
  const name = at + CODE_BYTES
  return {
    start,
    end: start + Number(view.getBigUint64(at + 24, true)),
    name: Buffer.from(bytes.subarray(name, bytes.indexOf(0, name))).toString(),
  }
}
