import { expect, test } from 'bun:test'
import { randomOf } from '#tests/support/fuzz.ts'
import type { PlainRun } from '@/formats/plain-kernel.ts'
import { SaidText } from '@/formats/said-text.ts'

/** A run that said this. */
function runOf(text: string): PlainRun {
  return {
    events: 1,
    end: 0,
    length: text.length,
    bytes: Buffer.byteLength(text),
    text,
    held: 0,
    usageStart: -1,
    usageEnd: 0,
    output: () => new Uint8Array(0),
    copyText: (target, at) => target.set(Buffer.from(text).subarray(0, target.length - at), at),
  }
}

test('all that was said is told, whatever the lengths of its runs', () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const random = randomOf(seed)
    const told: string[] = []
    let length = 0
    const said = new SaidText()
    said.begin(
      { of: 'length', add: units => (length += units) },
      { of: 'text', add: text => told.push(text) },
    )
    const texts = Array.from({ length: 1 + random(8) }, () =>
      'é1'.repeat(1 + random(random(20) === 0 ? 9000 : 500)),
    )
    for (const text of texts) said.add(runOf(text))
    said.tell()
    expect({ seed, text: told.join(''), length }).toEqual({
      seed,
      text: texts.join(''),
      length: texts.join('').length,
    })
  }
})
