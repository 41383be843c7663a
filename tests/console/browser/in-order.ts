import { test } from 'bun:test'

/** Tests that stand on one another: after the first that fails the others fail at once, and say why. */
export function inOrder(timeoutMs: number) {
  let broken: string | undefined
  return (name: string, run: () => Promise<void>) =>
    test(
      name,
      async () => {
        if (broken !== undefined) throw new Error(`not tried, since "${broken}" failed`)
        broken = name
        await run()
        broken = undefined
      },
      timeoutMs,
    )
}
