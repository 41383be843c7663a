import { afterAll, describe, test } from 'bun:test'
import { FEATURES, isForeign, MODES, PAIRS, runCell } from './cells.ts'
import { startRig } from './rig.ts'
import { SIDES } from './talk.ts'

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

const anew = await startRig({ functionToolsOnly: true })
afterAll(() => anew.close())

/** The same format on both sides, but nothing is passed through: decoded and encoded again, a request is the same. */
for (const side of SIDES) {
  const pair = { caller: side, upstream: side }
  describe(`called as ${side} and written anew for ${side}`, () => {
    for (const feature of FEATURES) {
      const modes = MODES.filter(mode => !isForeign(feature, pair, mode))
      test.each(modes)(`${feature.name}, %s`, mode => runCell(anew, feature, pair, mode))
    }
  })
}
