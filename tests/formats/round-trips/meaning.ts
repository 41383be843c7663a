import type { Part, ToolResultPart } from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'

/**
 * A request in a normal form that makes no difference between what some format cannot tell apart:
 * - neighbouring turns of one side are one; system text in the middle of the talk is the user's;
 * - neighbouring texts are one, the instructions too, whatever white space joins them; a refusal is a text;
 * - calls and results are linked by the order of the calls, results stand in that order behind their calls;
 * - tool input is the JSON it is, each number with its own digits;
 * - a failed result says "Error" in its text; a result that is `{"result": text}` is the text;
 * - a tool that is not strict, or takes an object with nothing in it, says nothing about either;
 * - what is to be cached is no part of what is said (a key for the cache becomes marks where there are no keys).
 */
export function meaning(request: GenerationRequest) {
  const ids = new Map<string, number>()
  const { turns, instructions, tools } = request
  return {
    instructions: squeeze(instructions.map(({ text }) => text).join('')),
    turns: mergeTurns(turns).map(turn => turnMeaning(turn, ids)),
    tools: tools.map(tool =>
      tool.type === 'function'
        ? {
            ...tool,
            strict: tool.strict ?? false,
            parameters: withoutNothing(tool.parameters),
            cache: undefined,
          }
        : tool,
    ),
  }
}

interface Side {
  model: boolean
  parts: Part[]
}

function mergeTurns(turns: readonly Turn[]): Side[] {
  const sides: Side[] = []
  for (const { role, parts } of turns) {
    if (parts.every(part => part.type === 'reasoning')) continue
    const model = role === 'assistant'
    const last = sides.at(-1)
    if (last?.model === model) last.parts.push(...parts)
    else sides.push({ model, parts: [...parts] })
  }
  return sides
}

function turnMeaning({ model, parts }: Side, ids: Map<string, number>) {
  const said: unknown[] = []
  let text = ''
  const results: { call: number; text: string }[] = []
  const flush = () => {
    if (text !== '') said.push(squeeze(text))
    text = ''
  }
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') text += part.text
    else if (part.type === 'media') {
      flush()
      said.push({ kind: part.kind, mediaType: part.mediaType, source: part.source })
    } else if (part.type === 'tool-call') {
      flush()
      const call = ids.size
      ids.set(part.callId, call)
      said.push({ call, name: part.name, input: exact(part.input) })
    } else if (part.type === 'tool-result') {
      results.push({ call: ids.get(part.callId) ?? -1, text: resultText(part) })
    }
  }
  flush()
  return { model, results: results.sort((a, b) => a.call - b.call), said }
}

function resultText({ content }: ToolResultPart): string {
  const text = content.map(part => (part.type === 'text' ? part.text : `<${part.kind}>`)).join('')
  return squeeze(text.replace(/^Error: /, ''))
}

/** White space at joints is the format's. */
function squeeze(text: string): string {
  return text.replace(/\s+/g, '')
}

/** JSON text with its numbers as they were spelled. */
export function exact(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? `#${context?.source}` : value,
  )
}

function withoutNothing(schema: unknown): unknown {
  const text = JSON.stringify(schema) ?? ''
  return text === '{"type":"object","properties":{}}' ? undefined : schema
}
