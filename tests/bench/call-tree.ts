import type { JitDump } from './jit-dump.ts'

/** Where a sample was taken: in compiled JavaScript, in Bun's own code, or in the kernel. */
type Place = 'JavaScript' | 'Bun' | 'kernel'

/** A function of JavaScript, and what was called from it. */
interface Call {
  samples: number
  /** Of those, the ones in no other function of JavaScript that it called. */
  own: Record<Place, number>
  readonly calls: Map<string, Call>
}

/**
 * Samples of a thread as a tree of JavaScript's functions. What Bun and the kernel did for a function is its own; what
 * they did for none is at the root. What the compiler has put into its caller is the caller's.
 */
export class CallTree {
  readonly #names: JitDump
  readonly root = call()

  constructor(names: JitDump) {
    this.#names = names
  }

  /** Adds a sample as `perf script -F ip,sym,dso` writes it: a line for each frame, the innermost first. */
  add(lines: readonly string[]): void {
    const frames = lines.map(frameOf)
    const [innermost] = frames
    if (innermost === undefined) return
    const trail = frames.flatMap(({ address }) => ourName(this.#names.nameAt(address)) ?? []).reverse()
    let at = this.root
    at.samples += 1
    for (const [depth, name] of trail.entries()) {
      // The body of an async function is a function of its own.
      if (name === trail[depth - 1]) continue
      const below = at.calls.get(name) ?? call()
      at.calls.set(name, below)
      below.samples += 1
      at = below
    }
    const isCompiled = this.#names.nameAt(innermost.address) !== undefined
    at.own[isCompiled ? 'JavaScript' : innermost.isKernel ? 'kernel' : 'Bun'] += 1
  }

  /** A line for each function that took so much and more. @param unit what one sample stands for */
  lines(least: number, unit: number): string[] {
    const found: string[] = []
    const tell = (name: string, { samples, own, calls }: Call, depth: number) => {
      if (samples * unit < least) return
      const parts = Object.entries(own).flatMap(([place, count]) =>
        count * unit < least / 2 ? [] : `${place} ${(count * unit).toFixed(2)}`,
      )
      const itself = parts.length === 0 ? '' : `  (itself: ${parts.join(', ')})`
      found.push(`${'  '.repeat(depth)}${(samples * unit).toFixed(2)}  ${name}${itself}`)
      for (const [below, inside] of [...calls].sort(([, one], [, other]) => other.samples - one.samples)) {
        tell(below, inside, depth + 1)
      }
    }
    tell('all', this.root, 0)
    return found
  }
}

function call(): Call {
  return { samples: 0, own: { JavaScript: 0, Bun: 0, kernel: 0 }, calls: new Map() }
}

function frameOf(line: string): { address: number; isKernel: boolean } {
  const [address = ''] = line.trim().split(' ', 1)
  return { address: Number.parseInt(address, 16), isKernel: line.includes('[kernel') }
}

/** `JSC-FTL: relayWhole#EaTIGY` is relayWhole; the compiler's own helpers are nobody's. */
function ourName(compiled: string | undefined): string | undefined {
  const [, name, hash] = /^JSC-(?:Baseline|DFG|FTL): (.*)#(\w+)$/.exec(compiled ?? '') ?? []
  if (name === undefined) return undefined
  return name === '' ? `(a function without a name, ${hash})` : name
}
