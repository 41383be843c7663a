import { list, oneOf, type ReadFields, unreadFields } from '@/formats/unread-fields.ts'
import type { ClientTool, HostedTool } from '@/generation/tool.ts'
import { asObject, type JsonValue } from '@/json/json.ts'

/** What is lost nowhere: elsewhere deferred tools are sent at once, and the model itself calls every tool. */
const ANY: ReadFields = {
  type: true,
  name: true,
  defer_loading: true,
  allowed_callers: list(oneOf('direct')),
  strict: oneOf(false),
}

/** What lostSettings (web-search.ts) judges, and what any search does. */
const SEARCH: ReadFields = {
  ...ANY,
  max_uses: true,
  allowed_domains: true,
  blocked_domains: true,
  excludeDomains: true,
  filters: { allowed_domains: true, blocked_domains: true },
  user_location: true,
  search_context_size: true,
  external_web_access: oneOf(true),
  search_content_types: list(oneOf('text')),
  response_inclusion: oneOf('full'),
  searchTypes: { webSearch: true },
}

/** A container that the caller names holds files, which no other vendor has. */
const CODE: ReadFields = {
  ...ANY,
  container: container => asObject(container) !== undefined && { type: oneOf('auto') },
}

/** What a function's declaration is made of (client-schemas.ts), and what only the client needs to know. */
const CLIENT: ReadFields = {
  ...ANY,
  description: true,
  parameters: true,
  input_schema: true,
  execution: true,
  environment: { type: true },
  display_width_px: true,
  display_height_px: true,
  display_number: true,
  enable_zoom: true,
}

/** The settings of a vendor's tool that another vendor's of the same kind has no word for (`web_search.filters`). */
export function ownHostedSettings(tool: HostedTool): string[] {
  const { kind, wireType } = tool
  const read = kind === 'web_search' ? SEARCH : kind === 'code_execution' ? CODE : ANY
  return unreadFields(settingsOf(tool), read, wireType)
}

/** What the caller wrote of a tool. Gemini's stand under their own names. */
export function settingsOf({ format, wire, wireType }: HostedTool): JsonValue | undefined {
  return format === 'gemini-generate-content' ? wire[wireType] : wire
}

/** The settings of a tool of a type of its own that are gone when it becomes a function. */
export function ownClientSettings({ wire, wireType }: ClientTool): string[] {
  return unreadFields(wire, CLIENT, wireType)
}
