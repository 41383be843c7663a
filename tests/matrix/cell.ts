import { equal } from 'node:assert/strict'
import type { JsonObject } from '@/json/json.ts'
import { bodyOf, type Rig, textOf } from './rig.ts'
import type { Answer, Caller, Mode, Side, Talk, ToolSpec } from './talk.ts'

/** One square of the matrix: who calls, which upstream format serves, and how. */
export class Cell {
  readonly rig: Rig
  readonly caller: Caller
  readonly upstream: Side
  readonly mode: Mode

  constructor(rig: Rig, caller: Side, upstream: Side, mode: Mode) {
    this.rig = rig
    this.caller = rig.callers[caller]
    this.upstream = upstream
    this.mode = mode
  }

  /** The simulator's answer of this name, served by the upstream's format. */
  model(name: string): string {
    return `${this.upstream}/${name}`
  }

  talk(): Talk {
    return this.caller.talk()
  }

  /** Asks with a single user message. */
  ask(name: string, text: string, wishes?: Parameters<Talk['ask']>[2]): Promise<Answer> {
    const talk = this.talk()
    talk.user(text)
    return talk.ask(this.model(name), this.mode, wishes)
  }

  /** The body of the last request that the upstream got. */
  sent(): JsonObject {
    return bodyOf(this.rig.recordings().at(-1))
  }

  /** The same as it was on the wire. */
  sentText(): string {
    const last = this.rig.recordings().at(-1)
    return last === undefined ? '' : textOf(last)
  }

  /** Holds an answer to the caller's own word for an end. */
  expectFinish(answer: Answer, end: keyof typeof FINISH): void {
    equal(answer.finish, FINISH[end][this.caller.side])
  }
}

/** One row of the matrix. */
export interface Feature {
  name: string
  /** Throws when the cell fails. */
  run(cell: Cell): Promise<void>
  /** True where one of the two formats has no words for it. */
  isForeign?(caller: Side, upstream: Side, mode: Mode): boolean
}

/** How each surface says why an answer ended. */
const FINISH = {
  end: { chat: 'stop', responses: 'completed', messages: 'end_turn', gemini: 'STOP' },
  calls: { chat: 'tool_calls', responses: 'completed', messages: 'tool_use', gemini: 'STOP' },
  length: {
    chat: 'length',
    responses: 'incomplete: max_output_tokens',
    messages: 'max_tokens',
    gemini: 'MAX_TOKENS',
  },
  filter: {
    chat: 'content_filter',
    responses: 'incomplete: content_filter',
    messages: 'refusal',
    gemini: 'SAFETY',
  },
}

export const WEATHER: ToolSpec = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] }, days: { type: 'integer', minimum: 1 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
}
export const WEATHER_INPUT = { city: 'Oslo', days: 1 }

export const CLOCK: ToolSpec = {
  name: 'get_time',
  description: 'The time in a zone.',
  parameters: {
    type: 'object',
    properties: { zone: { type: 'string', enum: ['CET'] } },
    required: ['zone'],
    additionalProperties: false,
  },
}
export const CLOCK_INPUT = { zone: 'CET' }

/** A PNG of one pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
