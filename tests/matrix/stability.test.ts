import { afterAll, describe, expect, test } from 'bun:test'
import type { JsonObject, JsonValue } from '@/json/json.ts'
import { Cell, CLOCK, PIXEL, WEATHER } from './cell.ts'
import { MODES, PAIRS } from './cells.ts'
import { startRig } from './rig.ts'
import type { Side, Talk } from './talk.ts'

const rig = await startRig()
afterAll(() => rig.close())

/** Where each upstream format has its messages; the rest of a body stands before or after them. */
const LIST: Record<Side, string> = {
  chat: 'messages',
  responses: 'input',
  messages: 'messages',
  gemini: 'contents',
}

const WISHES = { system: 'Be kind.', tools: [WEATHER, CLOCK], thinks: true, maxTokens: 8000 }

/** Prompt caches live on equal bytes: the same conversation gives the same request, and a longer one begins with it. */
for (const pair of PAIRS) {
  describe(`called as ${pair.caller}, served by ${pair.upstream}`, () => {
    test.each(MODES)(
      'the same conversation gives the same bytes, and the next turn continues them: %s',
      async mode => {
        const cell = new Cell(rig, pair.caller, pair.upstream, mode)
        for (const model of modelsOf(pair.upstream)) expectStable(await converse(cell, model), pair.upstream)
      },
    )
  })
}

/** Gemini's calls have ids since version 3 only. */
function modelsOf(upstream: Side): string[] {
  return upstream === 'gemini' ? ['reason+parallel', 'gemini-3-pro/reason+parallel'] : ['reason+parallel']
}

function expectStable(sent: readonly string[], upstream: Side): void {
  expect(sent).toHaveLength(4)
  for (const [index, request] of sent.entries()) {
    const next = sent[index + 1]
    if (next === undefined) continue
    const { list, rest } = divide(request, upstream)
    const longer = divide(next, upstream)
    expect(longer.rest).toEqual(rest)
    expect(longer.list.startsWith(list.slice(0, -1))).toBe(true)
  }
}

/** Holds a talk with thoughts, parallel calls, an image and text; every request is sent twice and must be equal. */
async function converse(cell: Cell, model: string): Promise<string[]> {
  const sent: string[] = []
  const talk = cell.talk()
  const ask = async () => {
    const twin = await askOnce(cell, talk.copy(), model)
    const { answer, text } = await askOnce(cell, talk, model)
    expect(text).toBe(twin.text)
    sent.push(text)
    return answer
  }
  for (const question of ['Both, please.', 'And tomorrow?']) {
    talk.user(question, { image: PIXEL })
    const { calls } = await ask()
    expect(calls).toHaveLength(2)
    talk.results(calls.map((call, index) => ({ call, text: `{"outcome": ${index}}` })))
    expect((await ask()).calls).toHaveLength(0)
  }
  return sent
}

async function askOnce(cell: Cell, talk: Talk, model: string) {
  cell.rig.forget()
  const answer = await talk.ask(cell.model(model), cell.mode, WISHES)
  return { answer, text: cell.sentText() }
}

function divide(text: string, upstream: Side): { list: string; rest: JsonValue } {
  const { [LIST[upstream]]: list, ...rest }: JsonObject = JSON.parse(text)
  return { list: JSON.stringify(list), rest }
}
