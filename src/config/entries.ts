import type { Format } from '@/generation/format.ts'
import type { ReasoningField } from '@/generation/reasoning-field.ts'
import type { Surface } from '@/generation/surface.ts'
import type { ThinkTags } from '@/generation/think-tags.ts'
import type { JsonObject } from '@/json/json.ts'
import type { OnRedisDown } from './schema.ts'

/** A channel as the file declares it, defaults filled in. */
export interface ChannelEntry {
  name: string
  format: Format
  /** Without a trailing slash, or `simulator:`; with or without a version segment (`/v1`, `/v1beta`). */
  baseUrl: string
  /** The pool, in order; in clear, so it goes nowhere but to the store, which seals it. */
  apiKeys: readonly string[]
  /** Lower is tried first. */
  priority: number
  /** Share among channels of equal priority. */
  weight: number
  /** Added to every attempt. */
  headers: Readonly<Record<string, string>>
  /** Only those that the file gives, in ms. */
  timeouts: { connectMs?: number; firstByteMs?: number; idleMs?: number }
  /** Most exchanges at once; undefined is no limit. */
  maxConcurrent: number | undefined
  /** True: this upstream accepts nothing but function tools. */
  functionToolsOnly: boolean
  /** How its models write their thoughts into the text; undefined: they do not. */
  thinkTags: ThinkTags | undefined
  /** The field in which it takes thoughts of earlier turns back; undefined: by its host. */
  reasoningField: ReasoningField | undefined
  /** True: prompts of other formats' callers are kept, where its format keeps none unasked. */
  cachePrompts: boolean
  /** Whether the address may be on a private network. */
  allowPrivate: boolean
}

/** One way to serve a model, defaults filled in. */
export interface RouteEntry {
  /** Name of a channel of the file, or of one that is in the database already. */
  channel: string
  /** The upstream's name of the model. */
  upstreamModel: string
  /** Lower is tried first; overrides nothing of the channel, comes after its priority. */
  priority: number
  weight: number
}

/** A model as the file declares it, defaults filled in. */
export interface ModelEntry {
  /** What callers send; matched exactly. May hold `/` and `:`. */
  id: string
  aliases: readonly string[]
  displayName: string
  ownedBy: string
  routes: readonly RouteEntry[]
  /** Where it is offered; undefined is wherever its channels can serve. */
  surfaces: readonly Surface[] | undefined
  /** False: only accounts that were given it. */
  enabledByDefault: boolean
  contextTokens: number | undefined
  maxOutputTokens: number | undefined
  /** The keys of the file; every price is a plain decimal string, so no float ever holds one. */
  prices: JsonObject | undefined
}

/** Limits per minute and at once. What is undefined is the default, and without a default not limited. */
export interface LimitValues {
  requestsPerMinute: number | undefined
  tokensPerMinute: number | undefined
  concurrentRequests: number | undefined
}

/** Undefined: not said, which leaves the deployment's value alone. What is said takes its place as a whole. */
export interface LimitsEntry {
  /** Of accounts and keys that have none of their own. */
  account: LimitValues | undefined
  key: LimitValues | undefined
  /** Of each account on each single model. */
  accountModel: LimitValues | undefined
  /** Of each model, all accounts together. */
  model: LimitValues | undefined
  onRedisDown: OnRedisDown | undefined
}

/** What the operator says of the web console: tollgate.yaml's `console`, defaults filled in. */
export interface ConsoleEntry {
  /** Whether visitors may make an account. */
  signup: boolean
  /** Whether account holders see which channel served a request. */
  showChannels: boolean
  /** Where mail goes out; undefined: links are shown to administrators. */
  smtp: SmtpEntry | undefined
  /** Buying credit by card; undefined: nobody can. */
  stripe: { secretKey: string; webhookSecret: string } | undefined
}

/** A mail server, and what mail is from. */
export interface SmtpEntry {
  host: string
  port: number
  /** True: TLS from the start; false: STARTTLS where the server offers it. */
  secure: boolean
  user: string | undefined
  password: string | undefined
  /** What mail is from. */
  from: string
}

/** tollgate.yaml, valid as a whole. */
export interface ConfigFile {
  channels: readonly ChannelEntry[]
  models: readonly ModelEntry[]
  limits: LimitsEntry
  /** Whether media that callers give by address may be fetched. */
  fetchMedia: boolean | undefined
  /** Whether answers tell what is for operators. */
  operatorHeaders: boolean | undefined
  /** A plain decimal string in the deployment's currency. */
  trialCredit: string | undefined
  currency: string | undefined
  /** Undefined: not said. */
  console: ConsoleEntry | undefined
}
