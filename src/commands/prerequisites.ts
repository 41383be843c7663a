import { existsSync } from 'node:fs'

/** Older ones have faults that this program would meet; package.json says the same. */
const OLDEST_BUN = '1.4.5'

/**
 * What has to be done before the program can be loaded; undefined: nothing. `packages` is the directory of its packages:
 * where there is none, Bun takes each from the registry while it runs, without our patches.
 */
export function missingPrerequisite(bun: string, packages: string): string | undefined {
  if (Bun.semver.order(bun, OLDEST_BUN) < 0) {
    return `Bun is ${bun} but must be ${OLDEST_BUN} or newer: npm install -g --allow-scripts=bun bun@${OLDEST_BUN}`
  }
  if (!existsSync(packages)) return 'its packages are not installed: bun install --frozen-lockfile'
  return undefined
}
