import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { type Cell, CLOCK, CLOCK_INPUT, type Feature, PIXEL, WEATHER, WEATHER_INPUT } from './cell.ts'
import type { Call, ToolOutcome } from './talk.ts'

const TOOLS = [WEATHER, CLOCK]

export const TOOL_FEATURES: Feature[] = [
  { name: 'tool call', run: toolCall },
  { name: 'parallel tool calls', run: parallelCalls },
  { name: 'tool round trip', run: roundTrip },
  { name: 'round trip of parallel calls', run: parallelRoundTrip },
  { name: 'forced tool', run: forcedTool },
  { name: 'some tool required', run: requiredTool },
  { name: 'no tool allowed', run: noTool },
  {
    name: 'one call at a time',
    run: oneCall,
    isForeign: (caller, upstream) => caller === 'gemini' || upstream === 'gemini',
  },
  {
    name: 'tool result that failed',
    run: failedResult,
    isForeign: caller => caller === 'chat' || caller === 'responses',
  },
  { name: 'tool result with an image', run: imageResult, isForeign: caller => caller === 'chat' },
  {
    name: 'tool names of another alphabet',
    run: foreignNames,
    isForeign: caller => caller === 'chat' || caller === 'responses',
  },
  { name: 'demanding tool schema', run: demandingSchema },
  {
    name: 'tool that takes free text',
    run: freeTool,
    isForeign: caller => caller === 'messages' || caller === 'gemini',
  },
]

/** Gemini 3 has rules of its own for calls: ids, and signatures that must come back. */
function modelsOf(cell: Cell, name: string): string[] {
  return cell.upstream === 'gemini' ? [name, `gemini-3-pro/${name}`] : [name]
}

function expectCall(call: Call | undefined, name: string, input: object): void {
  equal(call?.name, name)
  deepEqual(call?.input, input)
}

async function toolCall(cell: Cell): Promise<void> {
  const answer = await cell.ask('tool', 'Weather?', { tools: TOOLS })
  equal(answer.calls.length, 1)
  expectCall(answer.calls[0], 'get_weather', WEATHER_INPUT)
  equal(answer.text, '')
  cell.expectFinish(answer, 'calls')
}

async function parallelCalls(cell: Cell): Promise<void> {
  const answer = await cell.ask('parallel', 'Both?', { tools: TOOLS })
  const [first, second] = answer.calls
  equal(answer.calls.length, 2)
  expectCall(first, 'get_weather', WEATHER_INPUT)
  expectCall(second, 'get_time', CLOCK_INPUT)
  // Gemini before version 3 gives no ids, and its own callers get what it gave.
  if (cell.caller.side !== 'gemini' || cell.upstream !== 'gemini') notEqual(first?.id, second?.id)
  cell.expectFinish(answer, 'calls')
}

async function roundTrip(cell: Cell): Promise<void> {
  for (const name of modelsOf(cell, 'tool')) {
    const talk = cell.talk()
    talk.user('Weather?')
    const first = await talk.ask(cell.model(name), cell.mode, { tools: TOOLS })
    talk.results(first.calls.map(call => ({ call, text: 'Sunny, 20 degrees' })))
    const second = await talk.ask(cell.model(name), cell.mode, { tools: TOOLS })
    equal(second.text, 'Result: Sunny, 20 degrees')
    deepEqual(second.calls, [])
    talk.user('Thanks')
    const third = await talk.ask(cell.model(name), cell.mode, { tools: TOOLS })
    expectCall(third.calls[0], 'get_weather', WEATHER_INPUT)
  }
}

async function parallelRoundTrip(cell: Cell): Promise<void> {
  for (const name of modelsOf(cell, 'parallel')) {
    const talk = cell.talk()
    talk.user('Both?')
    const { calls } = await talk.ask(cell.model(name), cell.mode, { tools: TOOLS })
    talk.results(calls.map((call, index) => ({ call, text: `outcome ${index}` })))
    const answer = await talk.ask(cell.model(name), cell.mode, { tools: TOOLS })
    equal(answer.text, 'Result: outcome 0\noutcome 1')
    cell.expectFinish(answer, 'end')
  }
}

async function forcedTool(cell: Cell): Promise<void> {
  const answer = await cell.ask('echo', 'Hm.', { tools: TOOLS, choice: { tool: 'get_time' } })
  equal(answer.calls.length, 1)
  expectCall(answer.calls[0], 'get_time', CLOCK_INPUT)
}

async function requiredTool(cell: Cell): Promise<void> {
  const answer = await cell.ask('echo', 'Hm.', { tools: TOOLS, choice: 'required' })
  expectCall(answer.calls[0], 'get_weather', WEATHER_INPUT)
}

async function noTool(cell: Cell): Promise<void> {
  const answer = await cell.ask('tool', 'Only words.', { tools: TOOLS, choice: 'none' })
  deepEqual(answer.calls, [])
  equal(answer.text, 'Only words.')
}

async function oneCall(cell: Cell): Promise<void> {
  const answer = await cell.ask('parallel', 'One.', { tools: TOOLS, parallel: false })
  equal(answer.calls.length, 1)
}

/** A history with one call and this outcome of it, taken up by an upstream. */
async function withOutcome(cell: Cell, outcome: Omit<ToolOutcome, 'call'>): Promise<string> {
  const talk = cell.talk()
  talk.user('Weather?')
  const { calls } = await talk.ask(cell.model('tool'), cell.mode, { tools: TOOLS })
  talk.results(calls.map(call => ({ call, ...outcome })))
  return (await talk.ask(cell.model('tool'), cell.mode, { tools: TOOLS })).text
}

async function failedResult(cell: Cell): Promise<void> {
  match(await withOutcome(cell, { text: 'station is down', isError: true }), /station is down/)
  const told = {
    chat: /Error: station is down/,
    responses: /Error: station is down/,
    messages: /"is_error":true/,
    gemini: /"error":"station is down"/,
  }
  match(cell.sentText(), told[cell.upstream])
}

async function imageResult(cell: Cell): Promise<void> {
  match(await withOutcome(cell, { text: 'see the picture', image: PIXEL }), /see the picture/)
  ok(cell.sentText().includes(PIXEL))
}

async function foreignNames(cell: Cell): Promise<void> {
  const name = cell.caller.side === 'gemini' ? 'files.read:all' : `files_${'x'.repeat(100)}`
  const talk = cell.talk()
  talk.user('Read.')
  const tools = [{ ...WEATHER, name }]
  const first = await talk.ask(cell.model('tool'), cell.mode, { tools })
  expectCall(first.calls[0], name, WEATHER_INPUT)
  talk.results(first.calls.map(call => ({ call, text: 'content' })))
  equal((await talk.ask(cell.model('tool'), cell.mode, { tools })).text, 'Result: content')
}

async function demandingSchema(cell: Cell): Promise<void> {
  const tool = {
    name: 'file_report',
    description: 'Files a report.',
    parameters: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { place: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
      properties: {
        kind: { const: 'storm' },
        place: { $ref: '#/$defs/place' },
        note: { type: ['string', 'null'] },
        level: {
          oneOf: [
            { type: 'integer', exclusiveMinimum: 0 },
            { type: 'string', enum: ['high'] },
          ],
        },
        more: { type: 'object', additionalProperties: { type: 'string' } },
      },
      required: ['kind', 'place', 'level'],
    },
  }
  const answer = await cell.ask('tool', 'Report.', { tools: [tool, { ...CLOCK, parameters: {} }] })
  const { name, input } = answer.calls[0] ?? { name: '', input: {} }
  equal(name, 'file_report')
  deepEqual(input, { kind: 'storm', place: { name: 'text' }, level: 1 })
}

async function freeTool(cell: Cell): Promise<void> {
  const tools = [{ name: 'apply_patch', description: 'Takes a patch.', parameters: {}, free: true }]
  const talk = cell.talk()
  talk.user('Patch it.')
  const { calls } = await talk.ask(cell.model('tool'), cell.mode, { tools })
  equal(calls[0]?.name, 'apply_patch')
  equal(calls[0]?.free, true)
  // A vendor with such tools gives the text itself; the others fill the one string of a function.
  match(String(calls[0]?.input), /^(Patch it\.|text)$/)
  talk.results(calls.map(call => ({ call, text: 'patched' })))
  equal((await talk.ask(cell.model('tool'), cell.mode, { tools })).text, 'Result: patched')
}
