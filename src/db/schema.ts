import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'
import type { Format } from '@/generation/format.ts'
import type { Surface } from '@/generation/surface.ts'
import type { JsonObject } from '@/json/json.ts'

/** The data model on one page. Column names in the database are these names in snake case. */

const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' })

/** Numbers the database gives out; they stay far below 2^53, so JavaScript holds them as plain numbers. */
const identity = () => bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity()
const reference = () => bigint({ mode: 'number' }).notNull()
const moment = () => timestamp({ withTimezone: true })
/** Money: bigint nano units of the deployment's currency (src/pricing/money.ts). */
const nano = () => bigint({ mode: 'bigint' })
/** How many of something; tokens of one exchange. */
const count = () => bigint({ mode: 'number' }).notNull().default(0)

export type AccountStatus = 'active' | 'suspended' | 'closed'
export type KeyStatus = 'active' | 'revoked'
export type CapPeriod = 'day' | 'week' | 'month' | 'total'
/** Who made a row: only rows of the file may be removed by `apply --prune`. */
export type Source = 'file' | 'cli' | 'console' | 'default'
/** How an exchange ended, seen from the relay. */
export type EndState = 'complete' | 'client_gone' | 'upstream_cut' | 'upstream_error' | 'stalled' | 'refused'
export type UsageSource = 'reported' | 'estimated' | 'missing'

/** Who pays: the owner of keys and of one balance. Never deleted, only closed. */
export const account = pgTable(
  'account',
  {
    id: identity(),
    /** Lower-cased; one account each. */
    email: text().notNull().unique(),
    /** Suspended: keys are known but refused with 403. Closed: for good. */
    status: text().$type<AccountStatus>().notNull().default('active'),
    /** Opening credit in nano units; becomes the first ledger entry. */
    creditNano: nano().notNull().default(sql`0`),
    /** True while all of the credit was given and none was paid for; such accounts get no optimistic start. */
    onTrial: boolean().notNull().default(true),
    /** Null in these three: the deployment's default for accounts. */
    requestsPerMinute: bigint({ mode: 'number' }),
    tokensPerMinute: bigint({ mode: 'number' }),
    concurrentRequests: bigint({ mode: 'number' }),
    createdAt: moment().notNull().defaultNow(),
  },
  t => [
    check('account_email_lower', sql`${t.email} = lower(${t.email})`),
    check('account_status', sql`${t.status} in ('active', 'suspended', 'closed')`),
  ],
)

/** What a caller presents. The key itself is shown once and never stored. */
export const apiKey = pgTable(
  'api_key',
  {
    id: identity(),
    accountId: reference().references(() => account.id),
    /** What a person calls it; may be empty. */
    name: text().notNull().default(''),
    /** The 8 characters after `sk-`: safe to show and to log, tells keys apart in lists. */
    lookup: text().notNull().unique(),
    /** SHA-256 of the whole key; the only thing a presented key is compared with. */
    hash: bytes().notNull().unique(),
    /** The key's own list; null is everything the account reaches, empty is nothing. */
    models: text().array(),
    /** Null: does not expire. */
    expiresAt: moment(),
    /** Addresses and CIDR ranges the key may be used from; null is anywhere. */
    allowIps: text().array(),
    /** Most the key may spend per `capPeriod`; both null is no cap. Enforced by the ledger. */
    capNano: nano(),
    capPeriod: text().$type<CapPeriod>(),
    /** Null in these three: the deployment's default for keys. */
    requestsPerMinute: bigint({ mode: 'number' }),
    tokensPerMinute: bigint({ mode: 'number' }),
    concurrentRequests: bigint({ mode: 'number' }),
    status: text().$type<KeyStatus>().notNull().default('active'),
    createdAt: moment().notNull().defaultNow(),
    revokedAt: moment(),
    /** To the minute or so: written in batches, never on the way of a request. */
    lastUsedAt: moment(),
  },
  t => [
    index('api_key_account').on(t.accountId),
    check('api_key_hash_length', sql`octet_length(${t.hash}) = 32`),
    check('api_key_status', sql`${t.status} in ('active', 'revoked')`),
    check('api_key_revoked', sql`(${t.status} = 'revoked') = (${t.revokedAt} is not null)`),
    check('api_key_cap', sql`(${t.capNano} is null) = (${t.capPeriod} is null) and ${t.capNano} >= 0`),
    check('api_key_cap_period', sql`${t.capPeriod} in ('day', 'week', 'month', 'total')`),
  ],
)

/** A configured way to reach one vendor (src/upstream/channel.ts). */
export const channel = pgTable(
  'channel',
  {
    id: identity(),
    /** The operator's name of it, stable over edits. */
    name: text().notNull().unique(),
    format: text().$type<Format>().notNull(),
    /** Without a trailing slash; with or without a version segment. */
    baseUrl: text().notNull(),
    /** Lower is tried first. */
    priority: integer().notNull().default(0),
    /** Share among channels of equal priority; 0 is used only when nothing else is left. */
    weight: integer().notNull().default(1),
    /** Added to every attempt; no secrets (those are channel keys). */
    headers: jsonb().$type<Record<string, string>>().notNull().default({}),
    /** How long an attempt may wait; a missing one is the default of src/upstream. */
    timeouts: jsonb()
      .$type<{ connectMs?: number; firstByteMs?: number; idleMs?: number }>()
      .notNull()
      .default({}),
    /** Most exchanges at once; null is no limit. */
    maxConcurrent: integer(),
    /** True: this upstream accepts nothing but function tools. */
    functionToolsOnly: boolean().notNull().default(false),
    /** True: the address may be on a private network. */
    allowPrivate: boolean().notNull().default(false),
    source: text().$type<Source>().notNull(),
  },
  t => [check('channel_source', sql`${t.source} in ('file', 'cli', 'console', 'default')`)],
)

/** One vendor key of a channel's pool. */
export const channelKey = pgTable(
  'channel_key',
  {
    id: identity(),
    channelId: reference().references(() => channel.id, { onDelete: 'cascade' }),
    /** Sealed with TOLLGATE_SECRET (src/secrets/secret-box.ts). */
    ciphertext: bytes().notNull(),
    /** Order in the pool, from 0. */
    position: integer().notNull().default(0),
  },
  t => [index('channel_key_channel').on(t.channelId)],
)

/** A model as callers see it (src/routing/model.ts). */
export const model = pgTable(
  'model',
  {
    /** What callers send; matched exactly. */
    id: text().primaryKey(),
    displayName: text().notNull(),
    ownedBy: text().notNull(),
    /** Where it is offered; null is wherever its channels can serve. */
    surfaces: text().array().$type<Surface[]>(),
    /** False: only accounts that were given it. */
    enabledByDefault: boolean().notNull().default(true),
    contextTokens: integer(),
    maxOutputTokens: integer(),
    /** As the operator wrote them (tollgate.yaml `prices`); null is unpriced, which is refused and not free. */
    prices: jsonb().$type<JsonObject>(),
    createdAt: moment().notNull().defaultNow(),
    source: text().$type<Source>().notNull(),
  },
  t => [check('model_source', sql`${t.source} in ('file', 'cli', 'console', 'default')`)],
)

/** Another name of a model; never equal to a model's id. */
export const modelAlias = pgTable(
  'model_alias',
  {
    alias: text().primaryKey(),
    modelId: text()
      .notNull()
      .references(() => model.id, { onDelete: 'cascade' }),
  },
  t => [index('model_alias_model').on(t.modelId)],
)

/** One way to serve a model: a channel, and what the upstream calls the model. */
export const modelChannel = pgTable(
  'model_channel',
  {
    modelId: text()
      .notNull()
      .references(() => model.id, { onDelete: 'cascade' }),
    channelId: reference().references(() => channel.id, { onDelete: 'cascade' }),
    upstreamModel: text().notNull(),
    /** Lower is tried first, among channels of equal priority. */
    priority: integer().notNull().default(0),
    weight: integer().notNull().default(1),
  },
  t => [
    primaryKey({ columns: [t.modelId, t.channelId, t.upstreamModel] }),
    index('model_channel_channel').on(t.channelId),
  ],
)

/** Models given to an account explicitly, beside those that every account has. */
export const accountModel = pgTable(
  'account_model',
  {
    accountId: reference().references(() => account.id),
    modelId: text()
      .notNull()
      .references(() => model.id, { onDelete: 'cascade' }),
  },
  t => [primaryKey({ columns: [t.accountId, t.modelId] }), index('account_model_model').on(t.modelId)],
)

/**
 * The result of every exchange, one row each, written when it ended. No foreign keys: a row must be writable whatever
 * became of the model or channel meanwhile, and the write must not lock the account's row.
 */
export const exchange = pgTable(
  'exchange',
  {
    /** The `x-request-id`: a UUIDv7, so the primary key is in order of time. */
    id: uuid().primaryKey(),
    accountId: reference(),
    keyId: reference(),
    /** The model's id, not the alias that was sent; null if the request was refused before it was known. */
    model: text(),
    /** Name and format of the channel of the last attempt; null if there was none. */
    channel: text(),
    channelFormat: text().$type<Format>(),
    surface: text().$type<Surface>().notNull(),
    streamed: boolean().notNull(),
    /** The disjoint buckets of src/generation/usage.ts. */
    inputUncached: count(),
    cacheRead: count(),
    cacheWrite5m: count(),
    cacheWrite1h: count(),
    outputText: count(),
    reasoning: count(),
    audioInput: count(),
    audioOutput: count(),
    serverTools: jsonb().$type<Record<string, number>>().notNull().default({}),
    /** Missing: the upstream told nothing and nothing could be counted; then the buckets are 0. */
    usageSource: text().$type<UsageSource>().notNull(),
    /** What the caller got; 499 when the caller left first. */
    status: integer().notNull(),
    endState: text().$type<EndState>().notNull(),
    /** The kind of the error (src/errors/gateway-error.ts); null if there was none. */
    errorCode: text(),
    startedAt: moment().notNull(),
    /** From the start to the first byte of the upstream's answer; null if none came. */
    firstByteMs: integer(),
    totalMs: integer().notNull(),
    /** How many times an upstream was tried. */
    attempts: integer().notNull(),
    /** Request fields that the upstream's format could not say. */
    losses: text().array().notNull().default([]),
  },
  t => [
    index('exchange_account').on(t.accountId, t.id),
    check('exchange_usage_source', sql`${t.usageSource} in ('reported', 'estimated', 'missing')`),
    check(
      'exchange_end_state',
      sql`${t.endState} in ('complete', 'client_gone', 'upstream_cut', 'upstream_error', 'stalled', 'refused')`,
    ),
  ],
)

/** Facts about the deployment that are true once (first start done, the check of the secret). */
export const setting = pgTable('setting', { key: text().primaryKey(), value: text().notNull() })
