/** Far from the 65,535 parameters that a statement may have, with a few dozen columns. */
const ROWS_AT_ONCE = 1_000

/** Writes rows, many with one statement, in their order; nothing where there are none. */
export async function inPortions<Row>(
  rows: readonly Row[],
  write: (portion: Row[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) await write(rows.slice(at, at + ROWS_AT_ONCE))
}
