/**
 * Numbers the candidates of an answer. Where one answer was asked for, the first to begin is 0, whatever its upstream calls
 * it: most formats have a place for that one alone.
 */
export function answerNumbers(asked: number | undefined): (index: number) => number {
  let first: number | undefined
  return index => {
    first ??= index
    if (asked !== 1) return index
    return index === first ? 0 : index === 0 ? first : index
  }
}
