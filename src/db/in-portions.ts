/** Far from the 65,535 parameters that a statement may have, with a few dozen columns. */
const ROWS_AT_ONCE = 1_000

/** Rows that one statement deletes, so that none of them takes long. */
const DELETED_AT_ONCE = 500

/** Deletes rows, up to so many with one statement, until all are gone; the result is how many. */
export async function deleteInPortions(
  deleteSome: (most: number) => PromiseLike<readonly unknown[]>,
): Promise<number> {
  for (let gone = 0; ; ) {
    const rows = await deleteSome(DELETED_AT_ONCE)
    gone += rows.length
    if (rows.length < DELETED_AT_ONCE) return gone
  }
}

/** Writes rows, many with one statement, in their order; nothing where there are none. */
export async function inPortions<Row>(
  rows: readonly Row[],
  write: (portion: Row[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) await write(rows.slice(at, at + ROWS_AT_ONCE))
}
