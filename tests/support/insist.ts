/** Does what may be repeated until it is done: Postgres may be away. */
export async function insist<Result>(
  act: () => Promise<Result>,
  { tries = 1_000, pauseMs = 50 } = {},
): Promise<Result> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await act()
    } catch (error) {
      if (tried === tries) throw error
      await Bun.sleep(pauseMs)
    }
  }
}
