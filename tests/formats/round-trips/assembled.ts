import type { Format } from '@/generation/format.ts'
import { runMachine } from '@/generation/machine.ts'
import { parseExactObject } from '@/json/exact.ts'
import { asArray, asNumber, asObject, asObjects, asString, type JsonObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'

/** The whole answer that clients of a format put together from its stream; written from the vendors' documents, by no codec. */
export function assembled(format: Format, stream: string): JsonObject {
  const data = runMachine(createSseParser(), [Buffer.from(stream)])
  const events = data.map(({ data }) => parseExactObject(data) ?? {})
  switch (format) {
    case 'openai-responses':
      return asObject(events.at(-1)?.['response']) ?? {}
    case 'gemini-generate-content':
      return { candidates: [{ content: { role: 'model', parts: events.reduce(addParts, []) } }] }
    case 'anthropic-messages':
      return { content: blocksOf(events) }
    case 'openai-chat-completions':
      return { choices: [{ message: events.reduce(addDelta, { role: 'assistant', content: null }) }] }
    default:
      return format satisfies never
  }
}

function addParts(parts: JsonObject[], event: JsonObject): JsonObject[] {
  const content = asObject(asObject(asArray(event['candidates'])[0])?.['content'])
  for (const part of asObjects(content?.['parts'])) {
    const last = parts.at(-1)
    const isMore =
      typeof part['text'] === 'string' &&
      typeof last?.['text'] === 'string' &&
      last['thought'] === part['thought'] &&
      last['thoughtSignature'] === undefined
    if (isMore) Object.assign(last, part, { text: `${last['text']}${part['text']}` })
    else parts.push(part)
  }
  return parts
}

function blocksOf(events: readonly JsonObject[]): JsonObject[] {
  const blocks: JsonObject[] = []
  const inputs: string[] = []
  for (const event of events) {
    const index = asNumber(event['index']) ?? 0
    const block = asObject(event['content_block']) ?? blocks[index]
    if (block === undefined) continue
    blocks[index] = block
    const { type, partial_json: input, ...grown } = asObject(event['delta']) ?? {}
    inputs[index] = `${inputs[index] ?? ''}${input ?? ''}`
    for (const [name, text] of Object.entries(grown)) block[name] = `${block[name] ?? ''}${text}`
    if (event['type'] === 'content_block_stop' && block['type'] === 'tool_use')
      block['input'] = parseExactObject(inputs[index] || '{}') ?? {}
  }
  return blocks
}

function addDelta(message: JsonObject, event: JsonObject): JsonObject {
  const delta = asObject(asObject(asArray(event['choices'])[0])?.['delta']) ?? {}
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'role' || value === null) continue
    if (typeof value === 'string') message[name] = `${asString(message[name]) ?? ''}${value}`
    else if (Array.isArray(value))
      message[name] = value.reduce<JsonObject[]>(addEntry, asObjects(message[name]))
    else message[name] = value
  }
  return message
}

/** Entries of a list belong together by their index; what they say of it is said once, text but for it in pieces. */
function addEntry(entries: JsonObject[], value: JsonObject[string]): JsonObject[] {
  const entry = asObject(value) ?? {}
  const known = entries.find(
    ({ index, type }) => index === entry['index'] && type === (entry['type'] ?? type),
  )
  if (known === undefined) return [...entries, entry]
  for (const [name, more] of Object.entries(entry)) {
    if (name === 'text') known[name] = `${known[name] ?? ''}${more}`
    else if (name === 'function')
      known[name] = {
        ...asObject(known[name]),
        arguments: `${asObject(known[name])?.['arguments'] ?? ''}${asObject(more)?.['arguments'] ?? ''}`,
      }
    else known[name] = more
  }
  return entries
}
