/** Whether objects and arrays stand in one another more than `levels` deep. Needs no stack of its own for it. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: object[] = isContainer(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > levels) return true
    level = innerOf(level)
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function innerOf(containers: readonly object[]): object[] {
  const inner: object[] = []
  for (const container of containers) {
    // Object.values would spell out the index of each item of an array.
    const values: unknown[] = Array.isArray(container) ? container : Object.values(container)
    for (const value of values) if (isContainer(value)) inner.push(value)
  }
  return inner
}
