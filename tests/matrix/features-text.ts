import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'
import { logProbability } from '@/simulator/script/log-probability.ts'
import { IMAGE_BASE64 } from '@/simulator/script/script.ts'
import { type Cell, type Feature, PIXEL } from './cell.ts'
import type { Side } from './talk.ts'

/** Letters of one to four bytes, quotes, line breaks and what JSON escapes. */
const TEXT = 'Grüße, 世界! "quoted" \\ and 👋🏽\nnext line\ttab \u2028 end'

export const TEXT_FEATURES: Feature[] = [
  { name: 'text', run: text },
  { name: 'bytes that arrive one by one', run: splitBytes },
  { name: 'system text', run: systemText },
  { name: 'several turns', run: severalTurns },
  {
    name: 'system text in the middle',
    run: systemLater,
    isForeign: caller => caller === 'gemini',
  },
  { name: 'structured output', run: structuredOutput },
  { name: 'some JSON object', run: anyJson, isForeign: caller => caller === 'messages' },
  {
    name: 'several answers',
    run: severalAnswers,
    isForeign: (...pair) => pair.slice(0, 2).some(side => side === 'responses' || side === 'messages'),
  },
  {
    name: 'log probabilities',
    run: logProbabilities,
    isForeign: (...pair) => pair.slice(0, 2).includes('messages'),
  },
  { name: 'end at the length limit', run: lengthLimit },
  { name: 'stop sequence', run: stopSequence, isForeign: caller => caller === 'responses' },
  { name: 'refusal in words', run: refusal },
  { name: 'content filter', run: contentFilter, isForeign: (_, upstream) => upstream === 'messages' },
  { name: 'image input', run: imageInput },
  { name: 'document input', run: documentInput },
  {
    name: 'generated image',
    run: generatedImage,
    isForeign: (caller, upstream) => caller === 'messages' || upstream === 'messages',
  },
]

async function text(cell: Cell): Promise<void> {
  const answer = await cell.ask('echo', TEXT)
  equal(answer.text, TEXT)
  equal(answer.reasoning, '')
  deepEqual(answer.calls, [])
  cell.expectFinish(answer, 'end')
  ok(answer.id !== '')
  if (cell.caller.side !== cell.upstream) equal(answer.model, cell.model('echo'))
}

async function splitBytes(cell: Cell): Promise<void> {
  equal((await cell.ask('split-1', TEXT)).text, TEXT)
}

async function systemText(cell: Cell): Promise<void> {
  const answer = await cell.ask('echo', 'Hello', { system: 'Answer in Norse.' })
  equal(answer.text, 'Hello')
  equal(systemOf(cell.upstream, cell.sent()), 'Answer in Norse.')
}

/** The system text where the upstream's format has its place. */
function systemOf(upstream: Side, sent: JsonObject): string {
  switch (upstream) {
    case 'chat': {
      const [first] = asArray(sent['messages']).map(asObject)
      return first?.['role'] === 'user' ? '' : joined(first?.['content'])
    }
    case 'responses': {
      if (typeof sent['instructions'] === 'string') return sent['instructions']
      const [first] = asArray(sent['input']).map(asObject)
      return first?.['role'] === 'user' ? '' : joined(first?.['content'])
    }
    case 'messages':
      return joined(sent['system'])
    default:
      return joined(asObject(sent['systemInstruction'])?.['parts'])
  }
}

function joined(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map(part => part.text).join('') : ''
}

async function severalTurns(cell: Cell): Promise<void> {
  const talk = cell.talk()
  talk.user('First question')
  talk.assistant('Made up answer')
  talk.user('Second question')
  equal((await talk.ask(cell.model('echo'), cell.mode)).text, 'Second question')
  talk.user('Third question')
  equal((await talk.ask(cell.model('echo'), cell.mode)).text, 'Third question')
  const places = ['First question', 'Made up answer', 'Second question', 'Third question'].map(words =>
    cell.sentText().indexOf(words),
  )
  ok(!places.includes(-1), 'a turn is missing')
  deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
}

/** A turn of system text keeps its place: moved to the head it would mean something else. */
async function systemLater(cell: Cell): Promise<void> {
  const talk = cell.talk()
  talk.user('First question')
  talk.assistant('Made up answer')
  talk.system('From now on in Norse.')
  talk.user('Second question')
  match((await talk.ask(cell.model('echo'), cell.mode)).text, /Second question$/)
  const sent = cell.sentText()
  ok(sent.indexOf('Made up answer') < sent.indexOf('in Norse'), 'the system text was moved to the head')
  ok(sent.indexOf('in Norse') < sent.indexOf('Second question'), 'the system text was moved to the end')
}

async function anyJson(cell: Cell): Promise<void> {
  // Anthropic has no such mode; the model is asked for it in words.
  const answer = await cell.ask(cell.upstream === 'messages' ? 'json' : 'echo', 'Hello', { schema: 'any' })
  deepEqual(JSON.parse(answer.text), { echo: 'Hello' })
  if (cell.upstream === 'messages' && cell.caller.side !== 'messages') match(cell.sentText(), /JSON/)
}

async function severalAnswers(cell: Cell): Promise<void> {
  const answer = await cell.ask('echo', 'Hello there', { candidates: 3 })
  equal(answer.text, 'Hello there')
  deepEqual(answer.others, ['Hello there', 'Hello there'])
}

async function logProbabilities(cell: Cell): Promise<void> {
  const { text, logprobs } = await cell.ask('echo', 'one two three', { logprobs: true })
  equal(logprobs.map(({ token }) => token).join(''), text)
  for (const { token, logprob } of logprobs) equal(logprob, logProbability(token))
}

async function structuredOutput(cell: Cell): Promise<void> {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string', enum: ['Oslo'] }, population: { type: 'integer' } },
    required: ['city', 'population'],
    additionalProperties: false,
  }
  const answer = await cell.ask('echo', 'Where?', { schema })
  deepEqual(JSON.parse(answer.text), { city: 'Oslo', population: 0 })
  deepEqual(answer.calls, [])
  cell.expectFinish(answer, 'end')
}

async function lengthLimit(cell: Cell): Promise<void> {
  const answer = await cell.ask('long-200', 'Tell me.', { maxTokens: 20 })
  equal(answer.text.split(' ').length, 20)
  equal(answer.tokens.output, 20)
  cell.expectFinish(answer, 'length')
}

async function stopSequence(cell: Cell): Promise<void> {
  const answer = await cell.ask('echo', 'one two three four', { stop: ['thr', 'never'] })
  equal(answer.text, 'one two ')
  // Only some vendors tell a stop sequence from a natural end.
  const ends = { chat: ['stop'], responses: [], messages: ['stop_sequence', 'end_turn'], gemini: ['STOP'] }
  ok(
    ends[cell.caller.side].some(end => end === answer.finish),
    answer.finish,
  )
}

async function refusal(cell: Cell): Promise<void> {
  const answer = await cell.ask('refuse', 'Do it.')
  match(answer.text + answer.refusal, /^I cannot help with that\./)
  // Gemini declines in plain text; Anthropic says that it declined, beside the text.
  if (cell.upstream === 'gemini') return
  if (cell.caller.side === 'messages') equal(answer.finish, 'refusal')
  if (cell.caller.side === 'responses') notEqual(answer.refusal, '')
  if (cell.caller.side === 'chat' && cell.upstream !== 'messages')
    equal(answer.refusal, 'I cannot help with that.')
}

async function contentFilter(cell: Cell): Promise<void> {
  const answer = await cell.ask('filter', 'Half an answer')
  equal(answer.text, 'Half an answer')
  cell.expectFinish(answer, 'filter')
}

async function imageInput(cell: Cell): Promise<void> {
  const talk = cell.talk()
  talk.user('What is this?', { image: PIXEL })
  equal((await talk.ask(cell.model('echo'), cell.mode)).text, 'What is this?')
  ok(cell.sentText().includes(PIXEL))
}

async function documentInput(cell: Cell): Promise<void> {
  const talk = cell.talk()
  talk.user('How much?', { pdf: 'JVBERi0xLjQK' })
  equal((await talk.ask(cell.model('echo'), cell.mode)).text, 'How much?')
  ok(cell.sentText().includes('JVBERi0xLjQK'))
}

async function generatedImage(cell: Cell): Promise<void> {
  const answer = await cell.ask('image', 'Draw.')
  equal(answer.text, 'Draw.')
  deepEqual(answer.images, [IMAGE_BASE64])
}
