import { spelledIn } from '@/formats/spelling.ts'
import type { Loss } from '@/generation/loss.ts'
import type { HostedTool, WebSearch } from '@/generation/tool.ts'
import {
  asNumber,
  asObject,
  asString,
  asStrings,
  type JsonObject,
  type JsonValue,
  keysOf,
} from '@/json/json.ts'
import { ownHostedSettings, settingsOf } from './own-settings.ts'

/** A search as the vendor likes it. */
export const NO_SETTINGS: WebSearch = {
  maxUses: undefined,
  allowedDomains: [],
  blockedDomains: [],
  userLocation: undefined,
  contextSize: undefined,
}

/** The settings of a search as Anthropic or OpenAI writes them; who speaks Chat Completions uses either's words. */
export function searchSettings(wire: JsonObject): WebSearch {
  const filters = asObject(wire['filters'])
  return {
    maxUses: asNumber(wire['max_uses']),
    allowedDomains: asStrings(wire['allowed_domains'] ?? filters?.['allowed_domains']),
    blockedDomains: asStrings(wire['blocked_domains'] ?? filters?.['blocked_domains']),
    userLocation: placeOf(wire['user_location']),
    contextSize: asString(wire['search_context_size']),
  }
}

/**
 * Where a search is made from, without what is only said to be unknown: not every format takes a null. Chat Completions
 * have what is known of the place within it.
 */
function placeOf(place: JsonValue | undefined): JsonObject | undefined {
  const { approximate, ...said } = asObject(place) ?? {}
  const known = Object.entries({ ...said, ...asObject(approximate) }).filter(([, value]) => value !== null)
  return asObject(place) && Object.fromEntries(known)
}

/** What the formats call each setting. */
const NAMES = {
  maxUses: ['max_uses'],
  allowedDomains: ['allowed_domains', 'filters.allowed_domains'],
  blockedDomains: ['blocked_domains', 'filters.blocked_domains', 'excludeDomains'],
  userLocation: ['user_location'],
  contextSize: ['search_context_size'],
} as const satisfies Record<keyof WebSearch, readonly [string, ...string[]]>

/** The settings of another vendor's tool that a target cannot be told, which takes these of a search only. */
export function lostSettings(tool: HostedTool, takes: readonly (keyof WebSearch)[]): Loss[] {
  const search = tool.webSearch ?? NO_SETTINGS
  const untold = keysOf(NAMES).filter(key => !takes.includes(key) && isSet(search[key]))
  const settings = asObject(settingsOf(tool)) ?? {}
  const names = [
    ...untold.map(key => `${tool.wireType}.${spelledIn(settings, NAMES[key])}`),
    ...ownHostedSettings(tool),
  ]
  return names.map(name => ({ field: 'tools', name }))
}

function isSet(value: WebSearch[keyof WebSearch]): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}
