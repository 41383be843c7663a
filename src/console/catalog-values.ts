import { type ConfigFile, ConfigFileError, readConfigValue } from '@/config/file.ts'
import type { JsonObject } from '@/json/json.ts'
import type { StoredChannel } from '@/routing/catalog/store.ts'
import type { Model, NewChannel } from './api/contract/admin-catalog.ts'
import { HIDDEN } from './catalog-rows.ts'
import { invalid } from './failure.ts'

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

/** A channel as tollgate.yaml would say it, with the secrets that the page was never shown put back. */
export function channelValue({ api_keys, headers, ...rest }: NewChannel, before: StoredChannel | undefined) {
  const secrets = api_keys.map((key, index) => {
    if ('secret' in key) return key.secret
    const secret = before?.apiKeys[before.keyIds.indexOf(key.id)]
    if (secret === undefined) throw invalid(`api_keys[${index}]`, 'This key is not there any more')
    return secret
  })
  const kept = Object.entries(headers ?? {}).map(([name, value]) => {
    const stored = before?.headers[name]
    return [name, value === HIDDEN && stored !== undefined ? stored : value] as const
  })
  return {
    ...withoutNulls(rest),
    api_keys: secrets,
    headers: Object.fromEntries(kept),
  } satisfies JsonObject
}

/** What a request leaves out or says to be null is left out of a file. Safe because it came as JSON. */
export function withoutNulls(value: object): JsonObject {
  const said = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(said) as JsonObject
}

/** Prices in plain digits, checked as a part of their model. */
export function readWanted(model: Model, prices: object): JsonObject | undefined {
  const known = { channels: new Set(model.channels.map(({ channel }) => channel)) }
  const value = { id: model.id, channels: [{ channel: 'preview' }], prices: withoutNulls(prices) }
  known.channels.add('preview')
  try {
    return readConfigValue({ models: [value] }, known).models[0]?.prices
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error
    const [line = ''] = error.lines
    throw invalid('prices', line.replace(/^models\[0\]\./, ''))
  }
}
