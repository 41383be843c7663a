import { asObject, type JsonObject } from '@/json/json.ts'
import type { Exchange } from '@/simulator/exchange.ts'
import type { FoldedAnswer } from '@/simulator/fold.ts'
import type { Step } from '@/simulator/script/script.ts'

/** True for a request with `functions`, the way before `tools`: one call, in a field of its own. */
export function usesLegacyFunctions({ body }: Exchange): boolean {
  return body['functions'] !== undefined && body['tools'] === undefined
}

/** True where the vendor would hold the input of a call to its tool's schema. */
export function offersStrictTools({ body }: Exchange): boolean {
  const tools = body['tools']
  return (
    Array.isArray(tools) && tools.some(tool => asObject(asObject(tool)?.['function'])?.['strict'] === true)
  )
}

/** The delta that opens a call or adds to its input. */
export function callDelta(
  exchange: Exchange,
  choice: number,
  step: Extract<Step, { type: 'call-start' | 'call-input' }>,
): JsonObject {
  const { name, kind } = step.tool
  const starts = step.type === 'call-start'
  const text = starts ? '' : step.text
  const named = starts ? { name } : {}
  const content =
    kind === 'custom' ? { custom: { ...named, input: text } } : { function: { ...named, arguments: text } }
  if (usesLegacyFunctions(exchange)) return { function_call: { ...named, arguments: text } }
  const head = starts ? { id: callId(exchange, choice, step.call), type: kind } : {}
  return { tool_calls: [{ index: step.call, ...head, ...content }] }
}

/** The fields of a whole message that hold its calls. */
export function wholeCalls(exchange: Exchange, choice: number, calls: FoldedAnswer['calls']): JsonObject {
  const [first] = calls
  if (usesLegacyFunctions(exchange) && first !== undefined) {
    return { function_call: { name: first.tool.name, arguments: first.input } }
  }
  return {
    tool_calls: calls.map(({ tool: { name, kind }, input }, call) => {
      const content =
        kind === 'custom' ? { custom: { name, input } } : { function: { name, arguments: input } }
      return { id: callId(exchange, choice, call), type: kind, ...content }
    }),
  }
}

function callId(exchange: Exchange, choice: number, call: number): string {
  return `call_${exchange.seed}${choice}${call}`
}
