/** What one event of a streamed answer says to a person. */
interface Said {
  /** What of the model's thinking is shown. */
  thinking?: string
  text?: string
  /** Why there is no more. */
  error?: string
}

/** The surfaces that the playground speaks. */
export type PlaygroundSurface = 'chat' | 'responses' | 'messages' | 'gemini'

/** Reads an event's data in the grammar of its surface; nothing for events without words, and for what is no JSON. */
export function saidBy(surface: PlaygroundSurface, data: string): Said {
  const event = objectOf(parse(data))
  const error =
    objectOf(event['error'])['message'] ?? (event['type'] === 'error' ? event['message'] : undefined)
  if (typeof error === 'string') return { error }
  return READERS[surface](event)
}

const READERS: Record<PlaygroundSurface, (event: Fields) => Said> = {
  chat: event => {
    const choice = objectOf(arrayOf(event['choices'])[0])
    const delta = objectOf(choice['delta'] ?? choice['message'])
    return said(delta['content'] || delta['refusal'], delta['reasoning_content'] ?? delta['reasoning'])
  },
  responses: event => {
    if (event['type'] === 'response.output_text.delta') return said(event['delta'])
    if (event['type'] === 'response.refusal.delta') return said(event['delta'])
    if (event['type'] === 'response.reasoning_summary_text.delta') return said(undefined, event['delta'])
    if (event['type'] === 'response.reasoning_text.delta') return said(undefined, event['delta'])
    if (event['type'] !== 'response.failed') return {}
    const error = objectOf(objectOf(event['response'])['error'])
    return typeof error['message'] === 'string' ? { error: error['message'] } : {}
  },
  messages: event => {
    const delta = objectOf(event['delta'])
    return said(delta['text'], delta['thinking'])
  },
  gemini: event => {
    const parts = arrayOf(objectOf(objectOf(arrayOf(event['candidates'])[0])['content'])['parts']).map(
      objectOf,
    )
    const { texts = [], thoughts = [] } = Object.groupBy(parts, part =>
      part['thought'] === true ? 'thoughts' : 'texts',
    )
    return said(joined(texts), joined(thoughts))
  },
}

type Fields = Readonly<Record<string, unknown>>

function joined(parts: readonly Fields[]): string {
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}

function said(text: unknown, thinking?: unknown): Said {
  return {
    ...(typeof text === 'string' && text !== '' ? { text } : {}),
    ...(typeof thinking === 'string' && thinking !== '' ? { thinking } : {}),
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

function objectOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
