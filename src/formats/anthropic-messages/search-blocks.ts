import type { ReplyContext } from '@/formats/codec.ts'
import type { Citation, OpaquePart, Part } from '@/generation/part.ts'
import { asObject, asObjects, asString, type JsonObject } from '@/json/json.ts'
import { DIRECT_CALLER, isNobodys, replySignature } from './reply.ts'
import { FORMAT, type ServerToolUseBlock, type WebSearchToolResultBlock } from './wire.ts'

/**
 * What another vendor's search of the web found for a caller who offered this API's: a call and its result, from which
 * alone Claude Code takes the pages. They stand behind the text, since its sources are known no sooner.
 */
export class SearchBlocks {
  readonly #context: Pick<ReplyContext, 'requestId' | 'wire'>
  /** Made for the first source: most answers name none. */
  #titles: Map<string, string> | undefined
  #query = ''

  constructor(context: Pick<ReplyContext, 'requestId' | 'wire'>) {
    this.#context = context
  }

  /** A source of the answer's text. */
  cite({ url, title, wire }: Citation): void {
    if (url === undefined || wire?.format === FORMAT) return
    this.#titles ??= new Map()
    this.#titles.set(url, title ?? url)
  }

  /** What was looked for last. */
  search({ query = this.#query }: OpaquePart): void {
    this.#query = query
  }

  /** The blocks; none where the caller knows no search, or nothing was found. */
  blocks(): JsonObject[] {
    const { requestId, wire } = this.#context
    if (this.#titles === undefined || !offersSearch(wire)) return []
    const id = `srvtoolu_${requestId.replaceAll('-', '')}`
    const call = {
      type: 'server_tool_use',
      id,
      name: 'web_search',
      input: { query: this.#query },
      ...DIRECT_CALLER,
    } satisfies ServerToolUseBlock
    const result = {
      type: 'web_search_tool_result',
      tool_use_id: id,
      content: [...this.#titles].map(([url, title]) => pageOf(url, title)),
      ...DIRECT_CALLER,
    } satisfies WebSearchToolResultBlock
    return [call, result]
  }
}

function offersSearch({ tools }: JsonObject): boolean {
  return asObjects(tools).some(({ type }) => /^web_search_\d/.test(asString(type) ?? ''))
}

function pageOf(url: string, title: string) {
  const encrypted_content = replySignature(undefined)
  return { type: 'web_search_result', url, title, page_age: null, encrypted_content } as const
}

/** The parts of an assistant's turn without such blocks: no server knows the pages that they name. */
export function withoutSearchBlocks(parts: readonly Part[]): readonly Part[] {
  const ids = new Set(
    parts
      .map(blockOf)
      .filter(holdsOurPages)
      .map(block => block['tool_use_id']),
  )
  if (ids.size === 0) return parts
  return parts.filter(part => {
    const { id, tool_use_id = id } = blockOf(part)
    return !ids.has(tool_use_id)
  })
}

function blockOf(part: Part): JsonObject {
  return (part.type === 'opaque' && asObject(part.value)) || {}
}

function holdsOurPages({ type, content }: JsonObject): boolean {
  const key = asString(asObjects(content)[0]?.['encrypted_content'])
  return type === 'web_search_tool_result' && key !== undefined && isNobodys(key)
}
