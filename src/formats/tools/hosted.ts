import { unsayable } from '@/formats/invalid.ts'
import type { Loss } from '@/generation/loss.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { HostedTool, Tool, ToolChoice } from '@/generation/tool.ts'
import { asString } from '@/json/json.ts'

/** The request as the target can serve it, and what it loses by that. */
interface KeptTools {
  request: GenerationRequest
  losses: Loss[]
}

/**
 * Leaves out the tools that only their vendor's server can run, since nobody downstream waits for them. Every one
 * is a loss; the request comes back itself when there is none.
 *
 * @param keep whether the target has a tool that does the same.
 * @throws GatewayError `unsupported_parameter` when the tool choice forces a tool that would be left out.
 */
export function dropHostedTools(request: GenerationRequest, keep: (tool: HostedTool) => boolean): KeptTools {
  const dropped = request.tools.filter(tool => tool.type === 'hosted').filter(tool => !keep(tool))
  if (dropped.length === 0) return { request, losses: [] }
  const gone = new Set<Tool>(dropped)
  const tools = request.tools.filter(tool => !gone.has(tool))
  return {
    request: { ...request, tools, toolChoice: choiceWithout(dropped, tools, request.toolChoice) },
    losses: dropped.map(tool => ({ field: 'tools', name: tool.wireType })),
  }
}

function choiceWithout(
  dropped: readonly HostedTool[],
  left: readonly Tool[],
  choice: ToolChoice | undefined,
): ToolChoice | undefined {
  switch (choice?.type) {
    case 'tool': {
      const forced = forcedTool(choice, dropped, left)
      if (forced !== undefined) throw cannotForce(forced.wireType)
      return choice
    }
    case 'required':
      if (left.length === 0) throw cannotForce(dropped.map(tool => tool.wireType).join(', '))
      return choice
    case 'allowed':
      return allowedWithout(dropped, choice)
    default:
      return left.length === 0 ? undefined : choice
  }
}

/** The tool left out that the choice means, unless one that is left does the same. */
function forcedTool(
  choice: ToolChoice & { type: 'tool' },
  dropped: readonly HostedTool[],
  left: readonly Tool[],
): HostedTool | undefined {
  const { kind } = choice
  if (typeof kind === 'string') return undefined
  const means = (tool: HostedTool) =>
    tool.wireType === kind.wireType || (tool.kind === kind.hosted && tool.kind !== 'other')
  return left.some(tool => tool.type === 'hosted' && means(tool)) ? undefined : dropped.find(means)
}

function allowedWithout(
  dropped: readonly HostedTool[],
  choice: ToolChoice & { type: 'allowed' },
): ToolChoice {
  const names = new Set(
    dropped.flatMap(tool => [tool.wireType, asString(tool.wire['name']) ?? tool.wireType]),
  )
  const tools = choice.tools.filter(tool => tool.namespace !== undefined || !names.has(tool.name))
  if (tools.length > 0) return { ...choice, tools }
  if (choice.mode === 'required') throw cannotForce([...names].join(', '))
  return { type: 'none' }
}

function cannotForce(wireType: string) {
  return unsayable('toolChoice', `forces '${wireType}', which the model behind this name does not have`)
}
