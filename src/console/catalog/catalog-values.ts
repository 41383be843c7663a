import type { ConfigFile } from '@/config/entries.ts'
import { ConfigFileError, readConfigValue } from '@/config/file.ts'
import type { JsonObject } from '@/json/json.ts'
import type { StoredChannel } from '@/routing/catalog/store.ts'
import type { Model, NewChannel } from '../api/contract/admin-catalog.ts'
import { invalid } from '../failure.ts'
import { HIDDEN } from './catalog-rows.ts'

/** How the console applies what it was given: nothing else is touched. */
export const FROM_CONSOLE = { prune: false, dryRun: false, source: 'console' } as const

/**
 * One channel or model as tollgate.yaml would say it, checked by the same rules.
 * @throws ConsoleError that names the first thing that is wrong
 */
export function readEntries(value: JsonObject, channels: readonly StoredChannel[]): ConfigFile {
  try {
    return readConfigValue(value, { channels: new Set(channels.map(({ name }) => name)) })
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error
    const [line = ''] = error.lines
    const [, path = '', message = line] = /^(.*?): (.*)$/s.exec(line) ?? []
    const field = path.replace(/^(channels|models)\[0\]\.?/, '')
    throw invalid(field, `${field}: ${message}`)
  }
}

/**
 * A channel as tollgate.yaml would say it, with the secrets that the page was never shown put back: for where they were
 * given, since another address may be of somebody who wants to know them.
 */
export function channelValue({ api_keys, headers, ...rest }: NewChannel, before: StoredChannel | undefined) {
  const isMoved = before !== undefined && originOf(rest.base_url) !== originOf(before.baseUrl)
  const putBack = (field: string, secret: string | undefined) => {
    if (secret === undefined) throw invalid(field, 'This is not there any more')
    if (isMoved)
      throw invalid(field, 'The address is another one: remove what was for the one before, and give it anew')
    return secret
  }
  const secrets = api_keys.map((key, index) => {
    if ('secret' in key) return key.secret
    return putBack(`api_keys[${index}]`, before?.apiKeys[before.keyIds.indexOf(key.id)])
  })
  const kept = Object.entries(headers ?? {}).map(([name, value]) => {
    const stored = before?.headers[name]
    return [
      name,
      value === HIDDEN && stored !== undefined ? putBack(`headers.${name}`, stored) : value,
    ] as const
  })
  return {
    ...withoutNulls(rest),
    api_keys: secrets,
    headers: Object.fromEntries(kept),
  } satisfies JsonObject
}

/** Undefined for what is no address, which is refused as such. */
function originOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).origin : undefined
}

/** What a request leaves out or says to be null is left out of a file. Safe because it came as JSON. */
export function withoutNulls(value: object): JsonObject {
  const said = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(said) as JsonObject
}

/** Prices in plain digits, checked as a part of their model. */
export function readWanted(model: Model, prices: object): JsonObject | undefined {
  const value = { id: model.id, channels: [{ channel: 'preview' }], prices: withoutNulls(prices) }
  try {
    return readConfigValue({ models: [value] }, { channels: new Set(['preview']) }).models[0]?.prices
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error
    const [line = ''] = error.lines
    throw invalid('prices', line.replace(/^models\[0\]\./, ''))
  }
}
