import { expect, test } from 'bun:test'
import { hostedTool } from '#tests/formats/parts.ts'
import { dropHostedTools } from '@/formats/tools/hosted.ts'
import type { ToolChoice } from '@/generation/tool.ts'
import { functionNamed, request } from './fixtures.ts'

const search = hostedTool('web_search', 'web_search')
const mcp = hostedTool('other', 'mcp')
const lookup = functionNamed('lookup')
const forced = (hosted: 'web_search' | 'other', wireType: string): ToolChoice => ({
  type: 'tool',
  kind: { hosted, wireType },
  name: wireType,
  namespace: undefined,
})
const drop = (toolChoice: ToolChoice | undefined, tools = [lookup, search, mcp]) =>
  dropHostedTools(request({ tools, toolChoice }), tool => tool.kind === 'web_search' && tool !== preview)
const preview = hostedTool('web_search', 'web_search_preview')
const refused = expect.objectContaining({ kind: 'unsupported_parameter', param: 'toolChoice' })

test('a tool that the target has not is left out and named as a loss', () => {
  const { request: kept, losses } = drop({ type: 'auto' })
  expect(kept.tools).toEqual([lookup, search])
  expect(losses).toEqual([{ field: 'tools', name: 'mcp' }])
  expect(kept.toolChoice).toEqual({ type: 'auto' })
})

test('a request that loses nothing comes back as the same object', () => {
  const plain = request({ tools: [lookup, search] })
  expect(dropHostedTools(plain, () => true)).toEqual({ request: plain, losses: [] })
  expect(dropHostedTools(plain, () => true).request).toBe(plain)
})

test('forcing a tool that would be left out is refused', () => {
  expect(() => drop(forced('other', 'mcp'))).toThrow(refused)
  expect(() => drop(forced('web_search', 'web_search_preview'), [preview])).toThrow(refused)
})

test('forcing a tool that stays, or that another one stands for, is not', () => {
  expect(drop(forced('web_search', 'web_search')).losses).toHaveLength(1)
  expect(drop(forced('web_search', 'web_search_preview'), [search, preview]).losses).toHaveLength(1)
})

test('asking for some tool is refused when none is left', () => {
  expect(() => drop({ type: 'required' }, [mcp])).toThrow(refused)
  expect(drop({ type: 'required' }).request.toolChoice).toEqual({ type: 'required' })
  expect(drop({ type: 'auto' }, [mcp]).request.toolChoice).toBeUndefined()
})

test('a subset loses what is left out, and is refused when it must be called and is empty', () => {
  const allowed = (mode: 'auto' | 'required', ...names: string[]): ToolChoice => ({
    type: 'allowed',
    mode,
    tools: names.map(name => ({ name, namespace: undefined })),
  })
  expect(drop(allowed('required', 'lookup', 'mcp')).request.toolChoice).toEqual(allowed('required', 'lookup'))
  expect(drop(allowed('auto', 'mcp')).request.toolChoice).toEqual({ type: 'none' })
  expect(() => drop(allowed('required', 'mcp'))).toThrow(refused)
})
