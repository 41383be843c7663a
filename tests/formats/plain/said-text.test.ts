import { expect, test } from 'bun:test'
import { randomOf } from '#tests/support/random.ts'
import type { PlainRun } from '@/formats/plain/kernel.ts'
import { SaidText } from '@/formats/plain/said-text.ts'

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
    const said = new SaidText()
    const texts = Array.from({ length: 1 + random(8) }, () =>
      'é1'.repeat(1 + random(random(20) === 0 ? 9000 : 500)),
    )
    for (const text of texts) said.add(runOf(text))
    expect({ seed, text: said.take() }).toEqual({ seed, text: texts.join('') })
    expect({ seed, text: said.take() }).toEqual({ seed, text: '' })
  }
})

test('says when it should be told', () => {
  const said = new SaidText()
  said.add(runOf('x'.repeat(16_383)))
  expect(said.isMuch).toBe(false)
  said.add(runOf('x'))
  expect(said.isMuch).toBe(true)
  said.take()
  expect(said.isMuch).toBe(false)
})
