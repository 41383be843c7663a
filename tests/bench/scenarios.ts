/** What is asked of every target, and how its figure is read. */
export interface Scenario {
  /** What the figure is. */
  title: string
  /** Requests open at once. */
  connections: number
  /** Callers who do not keep step: each pauses before each request, for any time up to so many ms. */
  pauseMs?: number
  stream: boolean
  /** The model that the stub obeys. */
  stub: string
  /** Size of the request's text, in bytes. */
  textBytes: number
  /** `cpu`: CPU per request, or per chunk of a stream. */
  figure: 'cpu' | 'first-byte' | 'memory'
  /** Seconds of a run, where the command line does not decide. */
  secs?: number
  /** True: measured for a few of the conversions only. */
  few: boolean
}

export const SCENARIOS = {
  plain: {
    title: 'whole answer, CPU µs/request',
    connections: 64,
    stream: false,
    stub: 'stub',
    textBytes: 0,
    figure: 'cpu',
    few: false,
  },
  paced: {
    title: 'paced stream, CPU µs/chunk',
    connections: 400,
    stream: true,
    stub: 'stub-k50-p50',
    textBytes: 0,
    figure: 'cpu',
    few: false,
  },
  burst: {
    title: '16 events a read, CPU µs/chunk',
    connections: 32,
    stream: true,
    stub: 'stub-k800-b16',
    textBytes: 0,
    figure: 'cpu',
    few: false,
  },
  first: {
    title: 'first byte added, ms p50 / p99',
    connections: 64,
    stream: true,
    stub: 'stub-k1-d20',
    textBytes: 0,
    figure: 'first-byte',
    few: false,
  },
  apart: {
    title: 'the same out of step, ms p50 / p99',
    connections: 64,
    pauseMs: 20,
    stream: true,
    stub: 'stub-k1-d20',
    textBytes: 0,
    figure: 'first-byte',
    few: true,
  },
  open: {
    title: '1,000 open streams, MB added',
    connections: 1000,
    stream: true,
    stub: 'stub-k100-p200',
    textBytes: 0,
    figure: 'memory',
    secs: 6,
    few: true,
  },
  megabyte: {
    title: '1 MB request, CPU µs/request',
    connections: 8,
    stream: false,
    stub: 'stub',
    textBytes: 1_000_000,
    figure: 'cpu',
    few: true,
  },
} as const satisfies Record<string, Scenario>

/**
 * What the stub does in a soak: half a minute of 60 chunks, and an answer as fast as its reader. Slow readers take about
 * a minute for that one: several begin anew within any warm-up, so that no first time falls into what is measured.
 */
export const SOAK_STUBS = { paced: 'stub-k60-p500', long: 'stub-k5000-b16' } as const

export type ScenarioName = keyof typeof SCENARIOS

export const SCENARIO_NAMES = Object.keys(SCENARIOS).filter(isScenario)

export function isScenario(name: string): name is ScenarioName {
  return Object.hasOwn(SCENARIOS, name)
}

/** A format by its short name, as pairs are written: `chat>messages` is called as Chat and served by Messages. */
export const SIDES = ['chat', 'responses', 'messages', 'gemini'] as const
export type Side = (typeof SIDES)[number]

/** One request as it is sent over and over. */
export interface Call {
  path: string
  body: string
}

/** The scenario's request in the words of a format. */
export function callOf(side: Side, scenario: Scenario, model: string): Call {
  const text = `Say something short. ${agentText(scenario.textBytes)}`
  const { stream } = scenario
  switch (side) {
    case 'chat': {
      const usage = stream ? { stream_options: { include_usage: true } } : {}
      return json('/v1/chat/completions', {
        model,
        stream,
        ...usage,
        messages: [{ role: 'user', content: text }],
      })
    }
    case 'responses':
      return json('/v1/responses', { model, stream, input: text })
    case 'messages':
      return json('/v1/messages', {
        model,
        stream,
        max_tokens: 1000,
        messages: [{ role: 'user', content: text }],
      })
    case 'gemini': {
      const action = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
      return json(`/v1beta/models/${model}:${action}`, { contents: [{ role: 'user', parts: [{ text }] }] })
    }
  }
}

function json(path: string, body: object): Call {
  return { path, body: JSON.stringify(body) }
}

/** Text as agents send it: code, with what JSON has to escape. */
export function agentText(bytes: number): string {
  const line = 'const lorem = ipsum["dolor"] ?? \'sit\' // amet, consectetur\n\t'
  return line.repeat(Math.ceil(bytes / (line.length + 4)))
}
