import { type Failure, simulatedFailure } from '@/simulator/failure.ts'
import type { OfferedTool, Prompt } from '@/simulator/prompt.ts'
import { smallestInstance } from './instance.ts'
import type { Steering } from './steering.ts'
import { words } from './words.ts'

/** One step of an answer, in no vendor's words; a writer turns each into at least one event. The last one is finish or error. */
export type Step =
  | { type: 'reasoning'; text: string }
  | { type: 'reasoning-end' }
  | { type: 'text'; text: string }
  | { type: 'refusal'; text: string }
  | { type: 'call-start'; call: number; tool: OfferedTool }
  | { type: 'call-input'; call: number; tool: OfferedTool; text: string }
  | { type: 'call-end'; call: number; tool: OfferedTool }
  | { type: 'image' }
  | { type: 'error'; failure: Failure }
  | { type: 'finish'; reason: FinishReason; stopSequence: string | undefined }

/** Why an answer ends, in no vendor's words. */
export type FinishReason = 'stop' | 'stop-sequence' | 'calls' | 'length' | 'refusal' | 'filter'

/** Output tokens of one exchange, filled while its steps are played. */
export interface OutputCount {
  reasoning: number
  /** Everything but reasoning. */
  visible: number
}

/** What an image costs in output tokens. */
export const IMAGE_TOKENS = 258

/** The smallest PNG: one transparent pixel. */
export const IMAGE_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const REFUSAL = 'I cannot help with that.'
const NOTHING_TO_REPEAT = 'There was no text to repeat.'
const LONG_WORDS = [
  'the',
  'toll',
  'gate',
  'opens',
  'when',
  'a',
  'coin',
  'falls',
  'and',
  'closes',
  'behind',
  'every',
  'cart',
]

/** Plays one answer, lazily: a step exists only once somebody asks for it, so a `long-1000000` costs no memory. */
export function play(steering: Steering, prompt: Prompt, count: OutputCount): Iterable<Step> {
  return failing(
    steering,
    stopping(prompt.stopSequences, limited(prompt.maxTokens, count, answer(steering, prompt))),
  )
}

function* answer(steering: Steering, prompt: Prompt): Generator<Step> {
  if (steering.reasons && prompt.reasoning !== 'off') {
    for (const text of words(`Thinking about: ${prompt.lastUserText}`)) yield { type: 'reasoning', text }
    yield { type: 'reasoning-end' }
  }
  const calls = toolsToCall(steering, prompt)
  if (calls.length > 0) return yield* callTools(calls, prompt)
  if (steering.answer === 'refuse') {
    for (const text of words(REFUSAL)) yield { type: 'refusal', text }
    return yield finish('refusal')
  }
  for (const text of answerWords(steering, prompt)) yield { type: 'text', text }
  if (steering.answer === 'image') yield { type: 'image' }
  yield finish(steering.answer === 'filter' ? 'filter' : 'stop')
}

function finish(reason: FinishReason, stopSequence?: string): Step {
  return { type: 'finish', reason, stopSequence }
}

/** The tools that this answer calls: `tool` and `parallel` do it by themselves, other models when the caller forces them. */
function toolsToCall(steering: Steering, prompt: Prompt): OfferedTool[] {
  const { mode, allowed } = prompt.toolChoice
  const callsByItself = steering.answer === 'tool' || steering.answer === 'parallel'
  if (prompt.toolResults.length > 0 || mode === 'none' || !(callsByItself || mode === 'required')) return []
  const offered = prompt.tools.filter(tool => allowed === undefined || allowed.includes(tool.name))
  const [first, second = first] = offered
  if (first === undefined || second === undefined) return []
  return steering.answer === 'parallel' && prompt.parallelCalls ? [first, second] : [first]
}

/** All calls start, their input comes in turns, and they end in order; one call after the other is a matter of the writer. */
function* callTools(tools: OfferedTool[], prompt: Prompt): Generator<Step> {
  for (const [call, tool] of tools.entries()) yield { type: 'call-start', call, tool }
  const inputs = tools.map(tool => [...words(toolInput(tool, prompt))])
  const longest = Math.max(...inputs.map(input => input.length))
  for (let position = 0; position < longest; position++) {
    for (const [call, tool] of tools.entries()) {
      const text = inputs[call]?.[position]
      if (text !== undefined) yield { type: 'call-input', call, tool, text }
    }
  }
  for (const [call, tool] of tools.entries()) yield { type: 'call-end', call, tool }
  yield finish('calls')
}

function toolInput(tool: OfferedTool, prompt: Prompt): string {
  if (tool.kind === 'custom') return prompt.lastUserText === '' ? tool.name : prompt.lastUserText
  return JSON.stringify(smallestInstance({ type: 'object', ...tool.schema }), null, 1).replaceAll(
    /\n\s*/g,
    ' ',
  )
}

function* answerWords(steering: Steering, prompt: Prompt): Generator<string> {
  if (typeof prompt.output === 'object') return yield* words(JSON.stringify(smallestInstance(prompt.output)))
  if (prompt.output === 'any-object' || steering.answer === 'json') {
    return yield* words(JSON.stringify({ echo: prompt.lastUserText }))
  }
  if (steering.answer === 'long') return yield* longWords(steering.length)
  const answersResult =
    prompt.toolResults.length > 0 && (steering.answer === 'tool' || steering.answer === 'parallel')
  if (answersResult) return yield* words(`Result: ${prompt.toolResults.join('\n')}`)
  yield* words(prompt.lastUserText === '' ? NOTHING_TO_REPEAT : prompt.lastUserText)
}

function* longWords(length: number): Generator<string> {
  for (let position = 0; position < length; position++) {
    const word = LONG_WORDS[position % LONG_WORDS.length] ?? ''
    yield position === 0 ? word : ` ${word}`
  }
}

/** Counts tokens and ends the answer with `length` when one more would pass the limit. */
function* limited(maxTokens: number | undefined, count: OutputCount, steps: Iterable<Step>): Generator<Step> {
  let spent = 0
  for (const step of steps) {
    const cost = costOf(step)
    if (maxTokens !== undefined && cost > 0 && spent + cost > maxTokens) return yield finish('length')
    spent += cost
    if (step.type === 'reasoning') count.reasoning += cost
    else count.visible += cost
    yield step
  }
}

function costOf(step: Step): number {
  switch (step.type) {
    case 'reasoning':
    case 'text':
    case 'refusal':
    case 'call-input':
      return 1
    case 'image':
      return IMAGE_TOKENS
    default:
      return 0
  }
}

/** Cuts the text at the first stop sequence, holding back only what could still become one. */
function* stopping(sequences: string[], steps: Iterable<Step>): Generator<Step> {
  if (sequences.length === 0) return yield* steps
  const byFirst = Map.groupBy(sequences, sequence => sequence[0])
  let held = ''
  for (const step of steps) {
    if (step.type !== 'text') {
      if (held !== '') yield { type: 'text', text: held }
      held = ''
      yield step
      continue
    }
    held += step.text
    const { free, hit } = freeOfStops(held, byFirst)
    if (free > 0) yield { type: 'text', text: held.slice(0, free) }
    if (hit !== undefined) return yield finish('stop-sequence', hit)
    held = held.slice(free)
  }
}

/** How much of a text no stop sequence can take, and the one that cuts it there, if it is whole. */
function freeOfStops(
  text: string,
  byFirst: ReadonlyMap<string | undefined, string[]>,
): { free: number; hit: string | undefined } {
  let free = text.length
  for (let at = 0; at < text.length; at += 1) {
    const likely = byFirst.get(text[at]) ?? []
    const hit = likely.find(sequence => text.startsWith(sequence, at))
    if (hit !== undefined) return { free: at, hit }
    const isBegun = at < free && likely.some(sequence => sequence.startsWith(text.slice(at)))
    if (isBegun) free = at
  }
  return { free, hit: undefined }
}

/** Steps that `error-midstream` lets through before it fails. */
const STEPS_BEFORE_ERROR = 3

function* failing(steering: Steering, steps: Iterable<Step>): Generator<Step> {
  if (steering.errorAt === undefined) return yield* steps
  const failure: Step = { type: 'error', failure: simulatedFailure(503) }
  if (steering.errorAt === 'first') return yield failure
  let passed = 0
  for (const step of steps) {
    if (step.type === 'finish' || passed === STEPS_BEFORE_ERROR) return yield failure
    passed++
    yield step
  }
}
