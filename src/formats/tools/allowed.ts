import type { GenerationRequest } from '@/generation/request.ts'
import type { ToolChoice } from '@/generation/tool.ts'

/** A request that says only whether a tool is to be called, or which one. */
export type PlainlyChosen = Pick<GenerationRequest, 'tools'> & {
  toolChoice: Exclude<ToolChoice, { type: 'allowed' }> | undefined
}

/** The tools that a choice of several leaves, and its force: for upstreams that know no other way to say that. */
export function onlyAllowed({
  tools,
  toolChoice: choice,
}: Pick<GenerationRequest, 'tools' | 'toolChoice'>): PlainlyChosen {
  if (choice?.type !== 'allowed') return { tools, toolChoice: choice }
  const allowed = new Set(choice.tools.map(({ name }) => name))
  const left = tools.filter(tool => tool.type === 'hosted' || allowed.has(tool.name))
  return { tools: left, toolChoice: { type: choice.mode } }
}
