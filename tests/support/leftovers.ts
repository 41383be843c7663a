import type { Subprocess } from 'bun'

const running = new Set<Subprocess>()

/** Of a process that runs beside the tests: it ends with them, also when the test that was to close it is red. */
export function endsWithTests(child: Subprocess): void {
  running.add(child)
  void child.exited.then(() => running.delete(child))
}

/** Ends what red tests left running. Called once, by tests/preload.ts. */
export async function endLeftovers(): Promise<void> {
  await Promise.all(
    [...running].map(async child => {
      child.kill('SIGTERM')
      // A test may have stopped it in its tracks.
      child.kill('SIGCONT')
      const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
      await child.exited
      clearTimeout(late)
    }),
  )
}

/** For a gateway that takes its embedded database with it. */
const PATIENCE_MS = 20_000
