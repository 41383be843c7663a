import { deepEqual, equal, ok } from 'node:assert/strict'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import type { JsonObject } from '@/json/json.ts'
import { asObject } from '@/json/json.ts'
import { signReasoning } from '@/simulator/script/signature.ts'
import { type Cell, type Feature, WEATHER } from './cell.ts'
import { SIDES, type Side, type Tokens } from './talk.ts'

export const THINKING_FEATURES: Feature[] = [
  { name: 'thoughts are shown', run: thoughts },
  { name: 'thoughts go on in the next turn', run: thoughtsGoOn },
  { name: 'thoughts stay with their maker', run: thoughtsStay },
  { name: 'usage of thoughts', run: usage },
  { name: 'usage of a cached prompt', run: cachedUsage },
  { name: 'usage as it is stored', run: storedUsage },
]

const THINKS = { thinks: true, tools: [WEATHER] }

async function thoughts(cell: Cell): Promise<void> {
  const answer = await cell.ask('reason', 'Why?', { thinks: true })
  equal(answer.reasoning, 'Thinking about: Why?')
  equal(answer.text, 'Why?')
  cell.expectFinish(answer, 'end')
}

/** The model of this upstream that thinks before it calls; Gemini's third demands its signatures back. */
function thinker(cell: Cell): string {
  return cell.model(cell.upstream === 'gemini' ? 'gemini-3-pro/reason+tool' : 'reason+tool')
}

async function begin(cell: Cell) {
  const talk = cell.talk()
  talk.user('Weather?')
  const answer = await talk.ask(thinker(cell), cell.mode, THINKS)
  equal(answer.reasoning, 'Thinking about: Weather?')
  equal(answer.calls.length, 1)
  talk.results(answer.calls.map(call => ({ call, text: 'sunny' })))
  return { talk, signature: signReasoning(SURFACE_FORMAT[cell.upstream], answer.reasoning) }
}

async function thoughtsGoOn(cell: Cell): Promise<void> {
  const { talk, signature } = await begin(cell)
  const answer = await talk.ask(thinker(cell), cell.mode, THINKS)
  equal(answer.text, 'Result: sunny')
  // Chat Completions signs no thoughts.
  if (cell.upstream !== 'chat') ok(cell.sentText().includes(signature), 'the maker did not get its signature')
}

async function thoughtsStay(cell: Cell): Promise<void> {
  const { talk, signature } = await begin(cell)
  for (const other of SIDES.filter(side => side !== cell.upstream)) {
    const answer = await talk.copy().ask(`${other}/tool`, cell.mode, THINKS)
    equal(answer.text, 'Result: sunny')
    ok(!cell.sentText().includes(signature), `${other} got a foreign signature`)
    ok(!cell.sentText().includes(WRAPPED), `${other} got a signature in its wrapping`)
  }
}

/** How a signature begins on its way through a format that is not its own. */
const WRAPPED = Buffer.from('tollgate.1').toString('base64').slice(0, 12)

async function usage(cell: Cell): Promise<void> {
  const answer = await cell.ask('reason', 'Why?', { thinks: true })
  const truth = await upstreamTokens(cell)
  ok(truth.reasoning > 0 && truth.output > truth.reasoning)
  deepEqual(answer.tokens, truth)
  if (answer.total !== undefined) equal(answer.total, truth.input + truth.output)
}

/** What the account is charged for, whether or not the caller is told. */
async function storedUsage(cell: Cell): Promise<void> {
  await cell.ask('reason', 'Why?', { thinks: true })
  const stored = await cell.rig.stored()
  const { input, output, reasoning } = await upstreamTokens(cell)
  deepEqual(stored, { input, output, reasoning })
}

async function cachedUsage(cell: Cell): Promise<void> {
  const wishes = { system: `Rules of ${crypto.randomUUID()}: ${'be kind. '.repeat(1000)}`, cacheSystem: true }
  const first = await cell.ask('echo', 'Hello', wishes)
  const second = await cell.ask('echo', 'Hello', wishes)
  const truth = await upstreamTokens(cell)
  equal(first.tokens.cached, 0)
  equal(first.tokens.input, truth.input)
  deepEqual(second.tokens, truth)
  // Anthropic caches only what is marked, and Gemini's callers have no mark.
  if (cell.upstream !== 'messages' || cell.caller.side !== 'gemini') ok(second.tokens.cached > 1000)
}

/** What the upstream itself counts for the last request, by its vendor's arithmetic. */
async function upstreamTokens(cell: Cell): Promise<Tokens> {
  const last = cell.rig.recordings().at(-1)
  if (last === undefined) throw new Error('the upstream got no request')
  return readTokens(cell.upstream, await cell.rig.replay(last))
}

function readTokens(upstream: Side, answer: JsonObject): Tokens {
  const usage = asObject(answer['usage'] ?? answer['usageMetadata']) ?? {}
  const count = (name: string) => Number(usage[name] ?? 0)
  const detail = (group: string, name: string) => Number(asObject(usage[group])?.[name] ?? 0)
  switch (upstream) {
    case 'chat':
      return {
        input: count('prompt_tokens'),
        cached: detail('prompt_tokens_details', 'cached_tokens'),
        output: count('completion_tokens'),
        reasoning: detail('completion_tokens_details', 'reasoning_tokens'),
      }
    case 'responses':
      return {
        input: count('input_tokens'),
        cached: detail('input_tokens_details', 'cached_tokens'),
        output: count('output_tokens'),
        reasoning: detail('output_tokens_details', 'reasoning_tokens'),
      }
    case 'messages':
      return {
        input:
          count('input_tokens') + count('cache_read_input_tokens') + count('cache_creation_input_tokens'),
        cached: count('cache_read_input_tokens'),
        output: count('output_tokens'),
        reasoning: detail('output_tokens_details', 'thinking_tokens'),
      }
    default:
      return {
        input: count('promptTokenCount'),
        cached: count('cachedContentTokenCount'),
        output: count('candidatesTokenCount') + count('thoughtsTokenCount'),
        reasoning: count('thoughtsTokenCount'),
      }
  }
}
