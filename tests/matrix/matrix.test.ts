import { afterAll, describe, test } from 'bun:test'
import { FEATURES, isForeign, MODES, PAIRS, runCell } from './cells.ts'
import { startRig } from './rig.ts'

const rig = await startRig()
afterAll(() => rig.close())

/** A test per square of the matrix; `bun run matrix` prints the same squares as a table. */
for (const pair of PAIRS) {
  describe(`called as ${pair.caller}, served by ${pair.upstream}`, () => {
    for (const feature of FEATURES) {
      const modes = MODES.filter(mode => !isForeign(feature, pair, mode))
      test.each(modes)(`${feature.name}, %s`, mode => runCell(rig, feature, pair, mode))
    }
  })
}
