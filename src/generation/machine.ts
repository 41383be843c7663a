/**
 * A small state machine with explicit state: the one shape of everything that happens to a stream. Machines know no
 * streams, timers or I/O, so they can be tested with arrays and composed in one TransformStream.
 */
export interface StreamMachine<In, Out> {
  push(input: In, emit: (output: Out) => void): void
  /** The upstream closed: finish what is open, or report a truncated answer. Called once, after the last push. */
  end(emit: (output: Out) => void): void
}

/** Two machines as one: what the first emits is pushed into the second. */
export function compose<A, B, C>(
  first: StreamMachine<A, B>,
  second: StreamMachine<B, C>,
): StreamMachine<A, C> {
  return new Composed(first, second)
}

/** A class, since every open stream has several: closures would be twice as many objects. */
class Composed<A, B, C> implements StreamMachine<A, C> {
  readonly #first: StreamMachine<A, B>
  readonly #second: StreamMachine<B, C>
  #emit: (output: C) => void = toNobody
  readonly #between = (output: B): void => this.#second.push(output, this.#emit)

  constructor(first: StreamMachine<A, B>, second: StreamMachine<B, C>) {
    this.#first = first
    this.#second = second
  }

  push(input: A, emit: (output: C) => void): void {
    this.#emit = emit
    this.#first.push(input, this.#between)
  }

  end(emit: (output: C) => void): void {
    this.#emit = emit
    this.#first.end(this.#between)
    this.#second.end(emit)
  }
}

function toNobody(): void {}

/** Everything a machine makes of these inputs, the end included. */
export function runMachine<In, Out>(machine: StreamMachine<In, Out>, inputs: Iterable<In>): Out[] {
  const outputs: Out[] = []
  const emit = (output: Out) => {
    outputs.push(output)
  }
  for (const input of inputs) machine.push(input, emit)
  machine.end(emit)
  return outputs
}
