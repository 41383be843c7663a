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
  let sink: (output: C) => void = () => {}
  const between = (output: B) => second.push(output, sink)
  return {
    push(input, emit) {
      sink = emit
      first.push(input, between)
    },
    end(emit) {
      sink = emit
      first.end(between)
      second.end(emit)
    },
  }
}

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
