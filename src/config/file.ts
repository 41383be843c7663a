import { isUtf8 } from 'node:buffer'
import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { JsonObject, JsonValue } from '@/json/json.ts'
import { check, type Decimals, type Known } from './checks.ts'
import type {
  ChannelEntry,
  ConfigFile,
  ConsoleEntry,
  LimitsEntry,
  LimitValues,
  ModelEntry,
} from './entries.ts'
import { substituteFrom } from './environment.ts'
import type {
  ChannelContent,
  ConsoleContent,
  FileContent,
  LimitsContent,
  ModelContent,
  PricesContent,
} from './schema.ts'
import { type Environment, type Settings, SettingsError } from './settings.ts'
import { locator, validate } from './validation.ts'
import { child, type Issue, readYaml, type YamlFile } from './yaml.ts'

/** The file cannot be applied. Each line names the file, the line, the path and what is wrong there. */
export class ConfigFileError extends Error {
  readonly lines: readonly string[]

  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.name = 'ConfigFileError'
    this.lines = lines
  }
}

/** What a file is read with: its name for the error lines, and what it may refer to. */
interface FileContext {
  name: string
  env: Environment
  known: Known
}

/**
 * The file to apply at start: the one the operator named, else `./tollgate.yaml` if it is there.
 * @throws SettingsError when the one that was named is no file
 */
export function configFileOf({ configFile }: Pick<Settings, 'configFile'>): string | undefined {
  if (configFile === undefined) return existsSync('tollgate.yaml') ? 'tollgate.yaml' : undefined
  if (statSync(configFile, { throwIfNoEntry: false })?.isFile() === true) return configFile
  throw new SettingsError([
    `TOLLGATE_CONFIG is ${JSON.stringify(configFile)} but must be the path of a file that is there`,
  ])
}

/**
 * Reads a tollgate.yaml.
 * @throws ConfigFileError with a line for each thing that is wrong
 */
export async function readConfigFile(path: string, env: Environment, known: Known): Promise<ConfigFile> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigFileError([`${path}: cannot be read (${error.code ?? error.message})`])
  })
  // Read all the same, a letter of another encoding would be in names and keys as a replacement character.
  if (!isUtf8(bytes)) throw new ConfigFileError([`${path}: is not UTF-8`])
  return parseConfigFile(bytes.toString(), { name: path, env, known })
}

/** The file's meaning. Throws one ConfigFileError that holds every line that is wrong. */
export function parseConfigFile(text: string, { name, env, known }: FileContext): ConfigFile {
  const file = readYaml(text, substituteFrom(env))
  const unreadable = file.issues.filter(issue => issue.path === '')
  if (unreadable.length > 0) throw new ConfigFileError(lines(name, firstOfEachPath(unreadable)))
  return readContent(file, known, issues => lines(name, issues))
}

/**
 * The meaning of values that somebody else than a file says: nothing is read from the environment. Throws one
 * ConfigFileError; its lines name the path of each value that is wrong.
 */
export function readConfigValue(value: JsonObject, known: Known): ConfigFile {
  return readContent({ value, places: new Map(), issues: [] }, known, issues =>
    issues.map(({ path, message }) => `${path}: ${message}`),
  )
}

function readContent(
  file: YamlFile,
  known: Known,
  linesOf: (issues: readonly Issue[]) => string[],
): ConfigFile {
  const locate = locator(file)
  const { content, issues } = validate(file, locate)
  const checked = check(file, locate, known)
  const all = firstOfEachPath([...file.issues, ...issues, ...checked.issues])
  if (content === undefined || all.length > 0) throw new ConfigFileError(linesOf(all))
  return meaning(content, checked.decimals)
}

/** One line per place: what was found later often follows from what was found first. */
function firstOfEachPath(issues: readonly Issue[]): Issue[] {
  const first = new Map<string, Issue>()
  for (const issue of issues) if (!first.has(issue.path)) first.set(issue.path, issue)
  return [...first.values()]
}

function lines(name: string, issues: readonly Issue[]): string[] {
  return issues
    .toSorted((one, other) => one.line - other.line)
    .map(({ line, path, message }) => `${name}:${line}: ${path === '' ? 'the file' : `${path}:`} ${message}`)
}

function meaning(content: FileContent, decimals: Decimals): ConfigFile {
  return {
    channels: (content.channels ?? []).map(channelEntry),
    models: (content.models ?? []).map((model, index) =>
      modelEntry(model, `/models/${index}/prices`, decimals),
    ),
    limits: limitsEntry(content.limits ?? {}),
    fetchMedia: content.fetch_media,
    operatorHeaders: content.operator_headers,
    trialCredit: decimals.get('/trial_credit'),
    currency: content.currency,
    console: content.console && consoleEntry(content.console),
  }
}

function consoleEntry({ signup, show_channels, smtp, stripe }: ConsoleContent): ConsoleEntry {
  return {
    signup: signup ?? false,
    showChannels: show_channels ?? false,
    smtp: smtp && {
      host: smtp.host,
      port: smtp.port ?? (smtp.secure === true ? 465 : 587),
      secure: smtp.secure ?? false,
      user: smtp.user,
      password: smtp.password,
      from: smtp.from,
    },
    stripe: stripe && { secretKey: stripe.secret_key, webhookSecret: stripe.webhook_secret },
  }
}

function channelEntry(channel: ChannelContent): ChannelEntry {
  return {
    name: channel.name,
    format: channel.format,
    baseUrl: channel.base_url.replace(/\/+$/, ''),
    apiKeys: channel.api_keys ?? [],
    priority: channel.priority ?? 0,
    weight: channel.weight ?? 1,
    headers: channel.headers ?? {},
    timeouts: timeoutEntry(channel.timeouts ?? {}),
    maxConcurrent: channel.max_concurrent,
    functionToolsOnly: channel.function_tools_only ?? false,
    thinkTags: channel.think_tags,
    reasoningField: channel.reasoning_field,
    cachePrompts: channel.cache_prompts ?? false,
    allowPrivate: channel.allow_private ?? namesPrivateAddress(channel.base_url),
  }
}

function timeoutEntry(timeouts: NonNullable<ChannelContent['timeouts']>): ChannelEntry['timeouts'] {
  const { connect_ms, first_byte_ms, idle_ms } = timeouts
  return {
    ...(connect_ms === undefined ? {} : { connectMs: connect_ms }),
    ...(first_byte_ms === undefined ? {} : { firstByteMs: first_byte_ms }),
    ...(idle_ms === undefined ? {} : { idleMs: idle_ms }),
  }
}

function modelEntry(model: ModelContent, pricesPointer: string, decimals: Decimals): ModelEntry {
  return {
    id: model.id,
    aliases: model.aliases ?? [],
    displayName: model.display_name ?? model.id,
    ownedBy: model.owned_by ?? 'tollgate',
    routes: model.channels.map(route => ({
      channel: route.channel,
      upstreamModel: route.model ?? model.id,
      priority: route.priority ?? 0,
      weight: route.weight ?? 1,
    })),
    surfaces: model.surfaces,
    enabledByDefault: model.enabled_by_default ?? true,
    contextTokens: model.context_tokens,
    maxOutputTokens: model.max_output_tokens,
    prices: model.prices === undefined ? undefined : priceStrings(model.prices, pricesPointer, decimals),
  }
}

function limitsEntry(limits: NonNullable<FileContent['limits']>): LimitsEntry {
  return {
    account: bucketLimits(limits.account),
    key: bucketLimits(limits.key),
    accountModel: bucketLimits(limits.account_model),
    model: bucketLimits(limits.model),
    onRedisDown: limits.on_redis_down,
  }
}

function bucketLimits(limits: LimitsContent | undefined): LimitValues | undefined {
  return (
    limits && {
      requestsPerMinute: limits.requests_per_minute,
      tokensPerMinute: limits.tokens_per_minute,
      concurrentRequests: limits.concurrent_requests,
    }
  )
}

/** The prices with every decimal in plain digits, whichever way it was written. */
function priceStrings(prices: PricesContent, pointer: string, decimals: Decimals): JsonObject {
  const plain = (value: JsonValue, at: string): JsonValue => {
    if (Array.isArray(value)) return value.map((item, index) => plain(item, child(at, index)))
    if (typeof value === 'object' && value !== null) return members(value, at)
    return decimals.get(at) ?? value
  }
  const members = (object: JsonObject, at: string): JsonObject =>
    Object.fromEntries(
      Object.entries(object).map(([key, value]) => [key, plain(value ?? null, child(at, key))]),
    )
  return members({ ...prices }, pointer)
}

/** Addresses of one's own machine and of one's own networks. Link-local ones, where clouds keep credentials, are not. */
const PRIVATE_LITERAL =
  /^(?:localhost|127\.\d+\.\d+\.\d+|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+|\[::1\]|\[f[cd][0-9a-f]{2}:[0-9a-f:]*\])$/

/**
 * Whether an address is private in so many words. Whoever writes `127.0.0.1` into the file has said that the channel
 * may be private; a name that turns out to be private has to be allowed by `allow_private`.
 */
function namesPrivateAddress(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && PRIVATE_LITERAL.test(new URL(baseUrl).hostname)
}
