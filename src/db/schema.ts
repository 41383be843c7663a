import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  customType,
  date,
  foreignKey,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { Extras } from '@/generation/extras.ts'
import type { Format } from '@/generation/format.ts'
import type { ReasoningField } from '@/generation/reasoning-field.ts'
import type { ServiceTier } from '@/generation/service-tier.ts'
import type { Surface } from '@/generation/surface.ts'
import type { ThinkTags } from '@/generation/think-tags.ts'
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

/** A suspended account is resumed with its keys; of a closed one they are revoked, and reopening brings none back. */
export type AccountStatus = 'active' | 'suspended' | 'closed'
/** What is revoked stays so. */
export type KeyStatus = 'active' | 'revoked'
/** How long a key's spending cap counts before it starts anew, in UTC; `total` never does. */
export type CapPeriod = 'day' | 'week' | 'month' | 'total'
/** Who wrote a row last. The prices of a model that is as it was shipped (`default`) follow those of each release. */
export type Source = 'file' | 'cli' | 'console' | 'default'
/** How an exchange ended, seen from the relay. */
export type EndState = 'complete' | 'client_gone' | 'upstream_cut' | 'upstream_error' | 'stalled' | 'refused'
/** `status` of a stored response, as the Responses API spells it. */
export type StoredStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
/** Where a usage comes from; missing where an exchange came to none. */
export type UsageSource = 'reported' | 'estimated' | 'missing'

/** Who pays: the owner of keys and of one balance. Never deleted, only closed: its entries and receipts stay. */
export const account = pgTable(
  'account',
  {
    id: identity(),
    /** Lower-cased; one account each. */
    email: text().notNull().unique(),
    /** Suspended: keys are known but refused with 403. Closed: keys are revoked, and nobody signs in for it. */
    status: text().$type<AccountStatus>().notNull().default('active'),
    /** True while all of the credit was given and none was paid for; such accounts get no optimistic start. Its wallet is below. */
    onTrial: boolean().notNull().default(true),
    /** Null in these three: the deployment's default for accounts. */
    requestsPerMinute: bigint({ mode: 'number' }),
    tokensPerMinute: bigint({ mode: 'number' }),
    concurrentRequests: bigint({ mode: 'number' }),
    /** False: no content is ever kept for this account, whatever its callers ask for. */
    storeAllowed: boolean().notNull().default(true),
    /** Since when its holder asks for it to be closed; null: they do not. */
    closeRequestedAt: moment(),
    createdAt: moment().notNull().defaultNow(),
  },
  t => [
    index('account_close_requested').on(t.id).where(sql`${t.closeRequestedAt} is not null`),
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
    /** False: no content is kept for what this key asks. */
    storeAllowed: boolean().notNull().default(true),
    status: text().$type<KeyStatus>().notNull().default('active'),
    createdAt: moment().notNull().defaultNow(),
    revokedAt: moment(),
    /** To the minute or so: written in batches, never on the way of a request. */
    lastUsedAt: moment(),
    /** True: the console's own, for its playground; in no list. */
    hidden: boolean().notNull().default(false),
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
    /** How its models write their thoughts into the text; null: they do not. */
    thinkTags: text().$type<ThinkTags>(),
    /** The field in which it takes thoughts of earlier turns back; null: by its host. */
    reasoningField: text().$type<ReasoningField>(),
    /** True: prompts of other formats' callers are kept, where this format keeps none unasked. */
    cachePrompts: boolean().notNull().default(false),
    /** True: the address may be on a private network. */
    allowPrivate: boolean().notNull().default(false),
    source: text().$type<Source>().notNull(),
  },
  t => [
    check('channel_source', sql`${t.source} in ('file', 'cli', 'console', 'default')`),
    check('channel_think_tags', sql`${t.thinkTags} in ('both', 'closing')`),
    check('channel_reasoning_field', sql`${t.reasoningField} in ('reasoning_content', 'reasoning')`),
  ],
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
    /** What was used beside tokens (images by size, seconds of video); null if nothing was. */
    extras: jsonb().$type<Extras>(),
    /** Missing: the upstream told nothing and nothing could be counted; then the buckets are 0. */
    usageSource: text().$type<UsageSource>().notNull(),
    /** The prices it was charged by; null if it was not charged. */
    priceVersion: bigint({ mode: 'bigint' }),
    /** What the wallet paid: `cost_pico` rounded up. */
    costNano: nano(),
    /** The exact cost in 1e-12 of the currency. */
    costPico: numeric({ precision: 30, scale: 0 }),
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
    /** The service tier whose prices it was charged by; null: the model's own. */
    serviceTier: text().$type<ServiceTier>(),
    /** When the row was written, which is the order of the table: who follows the log asks for what came since. */
    storedAt: moment().notNull().defaultNow(),
  },
  t => [
    index('exchange_account').on(t.accountId, t.id),
    index('exchange_stored_at').using('brin', t.storedAt).with({ pages_per_range: 16, autosummarize: true }),
    check('exchange_usage_source', sql`${t.usageSource} in ('reported', 'estimated', 'missing')`),
    check(
      'exchange_end_state',
      sql`${t.endState} in ('complete', 'client_gone', 'upstream_cut', 'upstream_error', 'stalled', 'refused')`,
    ),
  ],
)

/**
 * What was used in each quarter of an hour (by the time in the request ids), added up from `exchange` by
 * functions/usage_add_up.sql, so that pages need not read every row. It holds the rows that were stored before the moment
 * in usage_progress; a trigger corrects it when one of those is changed, and the audit adds it up again.
 */
export const usageTotal = pgTable(
  'usage_total',
  {
    accountId: reference(),
    /** The beginning of the quarter. Every zone's days and hours begin with one. */
    at: moment().notNull(),
    keyId: reference(),
    /** Empty where an exchange has none, as `channel` and `serviceTier`. */
    model: text().notNull(),
    channel: text().notNull(),
    serviceTier: text().notNull().default(''),
    requests: count(),
    /** Of them: those that did not end `complete`. */
    failed: count(),
    /** All accounts together may spend more than a bigint holds, one as well. */
    costNano: numeric({ precision: 30, scale: 0 }).notNull(),
    input: count(),
    /** Of the input: read from the upstream's cache. */
    cached: count(),
    output: count(),
  },
  t => [
    primaryKey({ columns: [t.accountId, t.at, t.keyId, t.model, t.channel, t.serviceTier] }),
    index('usage_total_at').on(t.at),
  ],
)

/** Until where `usage_total` goes; one row. */
export const usageProgress = pgTable('usage_progress', {
  /** By `exchange.stored_at`. */
  storedBefore: moment().primaryKey(),
})

/**
 * A response that its caller asked to be kept (src/stored-responses/). The only content in the database: sealed with
 * TOLLGATE_SECRET, gone when it expires. No foreign keys: the write must not lock the account's row.
 */
export const storedResponse = pgTable(
  'stored_response',
  {
    /** `resp_` and the request id in hex. */
    id: text().primaryKey(),
    accountId: reference(),
    /** The response that this one goes on from; may be gone by now. */
    previousId: text(),
    status: text().$type<StoredStatus>().notNull(),
    /** True: runs without its caller's connection, and can be cancelled. */
    background: boolean().notNull(),
    /** As the caller named it. */
    model: text().notNull(),
    /** Sealed: the items of this turn's input, JSON without the brackets of their list. */
    input: bytes().notNull(),
    /** Sealed: the response object, JSON. */
    response: bytes().notNull(),
    /** The ids of the items of its output, by which a later request may refer to them. */
    itemIds: text().array().notNull().default([]),
    /** Length of `input` and `response` as plain text. */
    plainBytes: integer().notNull(),
    /** That of `response` alone; null: stored by a version that did not write it down. */
    responseBytes: integer(),
    createdAt: moment().notNull(),
    expiresAt: moment().notNull(),
    /** When the process that runs it was last heard of, by the clock of the database; null once it ended. */
    seenAt: moment(),
  },
  t => [
    index('stored_response_expires').on(t.expiresAt),
    index('stored_response_items').using('gin', t.itemIds),
    index('stored_response_seen').on(t.seenAt).where(sql`${t.seenAt} is not null`),
    check(
      'stored_response_status',
      sql`${t.status} in ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')`,
    ),
    check(
      'stored_response_running',
      sql`(${t.status} in ('queued', 'in_progress')) = (${t.seenAt} is not null)`,
    ),
  ],
)

/** The events of a stored response's stream, a batch per row, so that a caller can go on where it was cut off. */
export const storedResponseEvents = pgTable(
  'stored_response_events',
  {
    responseId: text()
      .notNull()
      .references(() => storedResponse.id, { onDelete: 'cascade' }),
    /** `sequence_number` of the batch's first event. */
    first: integer().notNull(),
    /** `sequence_number` of its last. */
    last: integer().notNull(),
    /** Sealed: a JSON list of the events' data as texts. */
    events: bytes().notNull(),
  },
  t => [primaryKey({ columns: [t.responseId, t.first] })],
)

/** Facts about the deployment that are true once (first start done, the check of the secret). */
export const setting = pgTable('setting', { key: text().primaryKey(), value: text().notNull() })

/**
 * The ledger (src/ledger/). Its tables are written by the functions in functions/ alone, which hold the rules; the
 * checks here are the second net below them.
 */

/**
 * Why money moved, below the house account on the other side of the entry. House balances are never stored: they are
 * `-sum(amount)` of their kinds.
 */
export type EntryKind =
  // Revenue.
  | 'usage'
  | 'usage_trueup'
  | 'usage_refund'
  // Payment clearing.
  | 'topup'
  | 'refund'
  | 'chargeback'
  // Marketing.
  | 'trial'
  | 'promo'
  | 'goodwill'
  // Breakage: credit that nobody used in time.
  | 'expiry'
  // Bad debt.
  | 'write_off'
  // Suspense: corrections by hand.
  | 'adjustment'
  | 'debit'

/** Where a grant's money came from. */
export type GrantKind = 'trial' | 'promo' | 'goodwill' | 'returned' | 'paid'

const isUuidV7 = (column: AnyPgColumn) => sql`get_byte(uuid_send(${column}), 6) >> 4 = 7`

/** The balance of one account: the only row that its requests queue for. Nothing is indexed but the key (HOT updates). */
export const wallet = pgTable(
  'wallet',
  {
    accountId: bigint({ mode: 'number' })
      .primaryKey()
      .references(() => account.id),
    /** Everything ever put in; only grows. */
    credits: nano().notNull().default(sql`0`),
    /** Everything ever taken out; only grows. The balance is credits - debits, and may be negative. */
    debits: nano().notNull().default(sql`0`),
    /** Sum of the open holds. */
    pending: nano().notNull().default(sql`0`),
    /** How far below zero a hold may reach. */
    overdraft: nano().notNull().default(sql`0`),
    /** Number of entries. */
    seq: bigint({ mode: 'bigint' }).notNull().default(sql`0`),
    /** The entry that `seq` counts; names its partition, so that the check of a wallet probes one. */
    lastEntryId: uuid(),
  },
  t => [
    check('wallet_monotone', sql`${t.credits} >= 0 and ${t.debits} >= 0 and ${t.seq} >= 0`),
    check('wallet_pending', sql`${t.pending} >= 0`),
    check('wallet_overdraft', sql`${t.overdraft} >= 0`),
  ],
)

/** Credit set aside for a running exchange. Only open ones: a row goes when its exchange is settled. No foreign keys. */
export const hold = pgTable(
  'hold',
  {
    /** The request id. */
    id: uuid().primaryKey(),
    accountId: reference(),
    keyId: reference(),
    /** The gateway process that answers for it. */
    owner: uuid().notNull(),
    amount: nano().notNull(),
    /** Cost at the last checkpoint: what is charged if the owner dies. */
    progress: nano().notNull().default(sql`0`),
    /** The version of the prices that the exchange is charged by. */
    priceVersion: bigint({ mode: 'number' }).notNull(),
    /** Whether it counts in the key's budget. */
    budgeted: boolean().notNull(),
    openedAt: moment().notNull().defaultNow(),
    /** When it is settled at its progress even if the owner lives. */
    deadline: moment().notNull(),
  },
  t => [
    index('hold_owner').on(t.owner),
    index('hold_account').on(t.accountId),
    check('hold_id', isUuidV7(t.id)),
    check('hold_amount', sql`${t.amount} > 0`),
    check('hold_progress', sql`${t.progress} >= 0`),
  ],
)

/** The gateway processes that are alive: each renews `seen`, by the clock of the database. */
export const gatewayProcess = pgTable('process', {
  /** Made at each start, and again after a pause in which others took the process for dead. */
  id: uuid().primaryKey(),
  seen: moment().notNull().defaultNow(),
  /** Where it runs, for people. */
  address: text().notNull(),
})

/** Of entries: neither what a request cost nor a correction of it. As the index says it, so that Postgres takes that. */
export const isBesideUsage = (kind: AnyPgColumn) =>
  sql`${kind} not in ('usage', 'usage_trueup', 'usage_refund')`

/**
 * Every movement of money: one row moves `amount` between a wallet and the house account of its kind. Append-only, by
 * trigger. In the database it is partitioned by month of its id, which drizzle cannot say.
 */
export const entry = pgTable(
  'entry',
  {
    /** Whose id it is depends on the kind: of the request, the top-up, the redemption. A UUIDv7. */
    id: uuid().notNull(),
    kind: text().$type<EntryKind>().notNull(),
    accountId: reference(),
    /** 1, 2, 3... per account, without gaps. */
    seq: bigint({ mode: 'bigint' }).notNull(),
    /** Above zero into the wallet, below zero out of it. */
    amount: nano().notNull(),
    balanceAfter: nano().notNull(),
    /** Usage only: the exact cost in pico units, which `amount` rounds up. */
    costPico: numeric({ precision: 30, scale: 0, mode: 'bigint' }),
    /** The payment's id, the refunded entry, the expired grant; `expired` on usage charged without its owner. */
    ref: text(),
    /** Why a person did this. */
    reason: text(),
    createdAt: moment().notNull().defaultNow(),
    /** Usage and what is given back of it: the key whose spending cap counts it; null: none does. */
    budgetKeyId: bigint({ mode: 'number' }),
  },
  t => [
    primaryKey({ columns: [t.id, t.kind] }),
    index('entry_account_seq').on(t.accountId, t.seq),
    index('entry_beside_usage').on(t.accountId, t.seq).where(isBesideUsage(t.kind)),
    index('entry_budget').on(t.budgetKeyId, t.seq).where(sql`${t.budgetKeyId} is not null`),
    index('entry_refund_of').on(t.ref).where(sql`${t.kind} = 'usage_refund'`),
    index('entry_payment').on(t.ref).where(sql`${t.kind} in ('topup', 'refund', 'chargeback', 'adjustment')`),
    index('entry_created_at').using('brin', t.createdAt),
    check('entry_id', isUuidV7(t.id)),
    check(
      'entry_kind',
      sql`${t.kind} in ('usage', 'usage_trueup', 'usage_refund', 'topup', 'refund', 'chargeback', 'trial', 'promo',
        'goodwill', 'expiry', 'write_off', 'adjustment', 'debit')`,
    ),
    check(
      'entry_sign',
      sql`${t.amount} <> 0 and case
        when ${t.kind} in ('usage', 'refund', 'expiry', 'debit') then ${t.amount} < 0
        when ${t.kind} in ('usage_refund', 'topup', 'trial', 'promo', 'goodwill', 'write_off') then ${t.amount} > 0
        else true end`,
    ),
    check(
      'entry_cost',
      // A quotient of numeric has some 16 digits, and would round up or down what is beyond them; div() is exact.
      sql`${t.kind} <> 'usage' or (${t.costPico} is not null and ${t.amount} = -div(${t.costPico} + 999, 1000))`,
    ),
    check('entry_ref', sql`${t.kind} not in ('usage_refund', 'expiry') or ${t.ref} is not null`),
    check(
      'entry_reason',
      sql`${t.kind} not in ('chargeback', 'adjustment', 'debit', 'write_off') or coalesce(${t.reason}, '') <> ''`,
    ),
  ],
)

/** Credit with its terms: one row for each entry that puts money in. What is left of it: src/ledger/burn-down.ts. */
export const ledgerGrant = pgTable(
  'ledger_grant',
  {
    entryId: uuid().notNull(),
    entryKind: text().$type<EntryKind>().notNull(),
    accountId: reference(),
    kind: text().$type<GrantKind>().notNull(),
    amount: nano().notNull(),
    /** Lower is used first, among grants that expire together. */
    priority: integer().notNull(),
    /** Null: never. */
    expiresAt: moment(),
    /** Set when nothing is left of an expired one. */
    closedAt: moment(),
  },
  t => [
    primaryKey({ columns: [t.entryId, t.entryKind] }),
    foreignKey({ columns: [t.entryId, t.entryKind], foreignColumns: [entry.id, entry.kind] }),
    index('ledger_grant_account').on(t.accountId),
    index('ledger_grant_due').on(t.expiresAt).where(sql`${t.closedAt} is null`),
    uniqueIndex('ledger_grant_trial').on(t.accountId).where(sql`${t.kind} = 'trial'`),
    check('ledger_grant_kind', sql`${t.kind} in ('trial', 'promo', 'goodwill', 'returned', 'paid')`),
    check('ledger_grant_amount', sql`${t.amount} > 0`),
  ],
)

/** A code that gives credit to whoever presents it, each account once. The code itself is shown once and never stored. */
export const redeemCode = pgTable(
  'redeem_code',
  {
    /** SHA-256 of the code as src/ledger/redeem-code.ts reads it. */
    codeHash: bytes().primaryKey(),
    amount: nano().notNull(),
    maxUses: integer().notNull(),
    uses: integer().notNull().default(0),
    /** Until when it can be redeemed; null: for ever. */
    expiresAt: moment(),
    /** When what is left of the credit that it gave is taken away; null: never. It cannot be redeemed after that either. */
    creditExpiresAt: moment(),
    createdAt: moment().notNull().defaultNow(),
    /** When the uses that were left of it were taken back; null: they were not. */
    revokedAt: moment(),
  },
  t => [
    check('redeem_code_hash_length', sql`octet_length(${t.codeHash}) = 32`),
    check('redeem_code_amount', sql`${t.amount} > 0`),
    check('redeem_code_uses', sql`${t.uses} between 0 and ${t.maxUses}`),
  ],
)

/** Who redeemed what. */
export const redemption = pgTable(
  'redemption',
  {
    codeHash: bytes()
      .notNull()
      .references(() => redeemCode.codeHash),
    accountId: reference(),
    entryId: uuid().notNull(),
  },
  t => [primaryKey({ columns: [t.codeHash, t.accountId] })],
)

/** What a key with a cap has spent in the current period. Rows come with the first hold of such a key. */
export const keyBudget = pgTable(
  'key_budget',
  {
    keyId: bigint({ mode: 'number' })
      .primaryKey()
      .references(() => apiKey.id),
    period: text().$type<CapPeriod>().notNull(),
    /** In UTC; a week begins on Monday. */
    periodStart: moment().notNull(),
    spent: nano().notNull().default(sql`0`),
    /** Sum of the open holds that count; they stay when a period ends. */
    pending: nano().notNull().default(sql`0`),
    /** The last entry of the account that `spent` does not count: those after it, of this key, explain it to the audit. */
    sinceSeq: bigint({ mode: 'bigint' }).notNull().default(sql`0`),
    /** What they do not explain: what was spent before there was a `sinceSeq`, or corrections that went below zero. */
    unexplained: nano().notNull().default(sql`0`),
  },
  t => [check('key_budget_counters', sql`${t.spent} >= 0 and ${t.pending} >= 0`)],
)

/** Ids that come from outside (a payment provider's events), and the UUIDv7 that stands for each in the ledger. */
export const idempotency = pgTable(
  'idempotency',
  {
    /** Who numbers: `stripe`. */
    scope: text().notNull(),
    key: text().notNull(),
    id: uuid().notNull(),
  },
  t => [primaryKey({ columns: [t.scope, t.key] })],
)

/**
 * What a payment provider told of a payment's refunds (src/console/money/payment-returns.ts). What they take off
 * follows from all of it, in whichever order it came.
 */
export const refundFact = pgTable(
  'refund_fact',
  {
    /** Stripe's PaymentIntent. */
    payment: text().notNull(),
    /** What is told, so that it is there once: `re_1 failed`, `ch_1 refunded 500 at 1795000000`. */
    fact: text().notNull(),
    /** Of a failed refund, its own amount; else all that was refunded of the payment at that time. */
    isFailure: boolean().notNull(),
    amount: nano().notNull(),
    /** By the provider's clock, in whole seconds. */
    toldAt: moment().notNull(),
  },
  t => [primaryKey({ columns: [t.payment, t.fact] })],
)

/**
 * Charges that the database refused to post, for a reason that is no rule of the ledger: tried again each minute until they
 * are posted. No rules of its own: it takes what no other table does.
 */
export const refusedSettlement = pgTable('refused_settlement', {
  /** The request id. */
  id: uuid().primaryKey(),
  accountId: reference(),
  keyId: reference(),
  costNano: numeric({ precision: 40, scale: 0 }).notNull(),
  costPico: numeric({ precision: 40, scale: 0 }).notNull(),
  /** The database's words. */
  reason: text().notNull(),
  refusedAt: moment().notNull().defaultNow(),
  /** The last time that it was taken to be tried. */
  triedAt: moment().notNull().defaultNow(),
})

/** Sums of the entries of each day that is over (UTC, by `created_at`); the audit computes them again. */
export const dailyTotal = pgTable(
  'daily_total',
  {
    day: date().notNull(),
    kind: text().$type<EntryKind>().notNull(),
    entries: bigint({ mode: 'bigint' }).notNull(),
    /** In nano units. All accounts together may move more in a day than a bigint holds. */
    amount: numeric({ precision: 30, scale: 0 }).notNull(),
  },
  t => [primaryKey({ columns: [t.day, t.kind] })],
)

/**
 * What moved in each month of UTC, by `created_at`: of the entries of an account up to the highest `last_seq`. Counted on
 * when somebody looks (ledger_total_months); the audit computes it again.
 */
export const monthlyTotal = pgTable(
  'monthly_total',
  {
    accountId: reference(),
    /** Its first day. */
    month: date().notNull(),
    entries: bigint({ mode: 'bigint' }).notNull(),
    credits: nano().notNull(),
    debits: nano().notNull(),
    /** All of them are numbered from here to there; so may be some of the months beside it. */
    firstSeq: bigint({ mode: 'bigint' }).notNull(),
    lastSeq: bigint({ mode: 'bigint' }).notNull(),
  },
  t => [primaryKey({ columns: [t.accountId, t.month] })],
)

/** The wallets as the last good audit left them; `audit --since-checkpoint` looks at what came after. */
export const auditCheckpoint = pgTable('audit_checkpoint', {
  accountId: bigint({ mode: 'number' }).primaryKey(),
  seq: bigint({ mode: 'bigint' }).notNull(),
  credits: nano().notNull(),
  debits: nano().notNull(),
  auditedAt: moment().notNull().defaultNow(),
})

/** What one check of an audit found, as it is stored. */
interface StoredAuditCheck {
  name: string
  title: string
  informational: boolean
  count: number
  /** A decimal string of nano. */
  difference_nano: string
  /** The first findings, in words. */
  first: string[]
}

/** The audits of all accounts that were made, by the clock or by a person. */
export const auditRun = pgTable(
  'audit_run',
  {
    id: identity(),
    startedAt: moment().notNull(),
    ms: integer().notNull(),
    /** Who asked for it; null: the clock. */
    by: text(),
    /** False: only what came after the last good audit. */
    full: boolean().notNull(),
    ok: boolean().notNull(),
    checks: jsonb().$type<StoredAuditCheck[]>().notNull(),
    /** Accounts that it suspended, since wallet and entries do not agree. */
    suspended: bigint({ mode: 'number' }).array().notNull().default([]),
  },
  t => [index('audit_run_started_at').on(t.startedAt)],
)

/**
 * What a model cost from when on: a row for every change, never updated or deleted (a trigger sees to it), so that a
 * hold or a bill that names a version can be checked for good. No foreign key: it outlives the model.
 */
export const priceVersion = pgTable(
  'price_version',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    modelId: text().notNull(),
    /** By the names of tollgate.yaml, decimal strings of pico units (src/generation/rate-text.ts); null: unpriced. */
    rates: jsonb().$type<JsonObject>(),
    /** In force from here until a later one is; the clock, since a transaction may wait long after it began. */
    validFrom: moment().notNull().default(sql`clock_timestamp()`),
    source: text().$type<Source>().notNull(),
    createdAt: moment().notNull().default(sql`clock_timestamp()`),
  },
  t => [
    index('price_version_model').on(t.modelId, t.validFrom, t.id),
    check('price_version_rates', sql`jsonb_typeof(${t.rates}) = 'object'`),
    check('price_version_source', sql`${t.source} in ('file', 'cli', 'console', 'default')`),
  ],
)

// The console (src/console/): who signs in there, and what administrators did.

/** What a user may do there: see all, change it, or also say who else may. */
export type Role = 'read_only' | 'admin' | 'owner'
/** Who is disabled cannot sign in. */
type ConsoleUserStatus = 'active' | 'disabled'
/** What a link that is used once is for. */
export type LinkKind = 'first_owner' | 'invite' | 'password_reset' | 'signup'

/** Who signs in. Each has one account, whose keys and balance are shown; a role is what they may do beside that. */
export const consoleUser = pgTable(
  'console_user',
  {
    id: identity(),
    /** Lower-cased. */
    email: text().notNull().unique(),
    /** By Bun.password, argon2id. */
    passwordHash: text().notNull(),
    /** Null: no administrator. */
    role: text().$type<Role>(),
    accountId: reference()
      .unique()
      .references(() => account.id),
    /** Secret of the second factor, sealed with TOLLGATE_SECRET; null: there is none. */
    totpSecret: bytes(),
    /** One that was begun and not confirmed. */
    totpPending: bytes(),
    /** The time step of the code that was used last: none works twice. */
    totpStep: bigint({ mode: 'number' }).notNull().default(0),
    /** Disabled: cannot sign in; the account and its keys go on. */
    status: text().$type<ConsoleUserStatus>().notNull().default('active'),
    createdAt: moment().notNull().defaultNow(),
    /** To the minute. */
    seenAt: moment(),
    /** Somebody asked for a new password while no mail could be sent. */
    resetRequestedAt: moment(),
  },
  t => [
    index('console_user_role').on(t.role).where(sql`${t.role} is not null`),
    check('console_user_email_lower', sql`${t.email} = lower(${t.email})`),
    check('console_user_role', sql`${t.role} in ('read_only', 'admin', 'owner')`),
    check('console_user_status', sql`${t.status} in ('active', 'disabled')`),
  ],
)

/** A browser that is signed in. */
export const consoleSession = pgTable(
  'console_session',
  {
    id: identity(),
    /** SHA-256 of the cookie's value, which is stored nowhere. */
    tokenHash: bytes().notNull().unique(),
    userId: reference().references(() => consoleUser.id, { onDelete: 'cascade' }),
    createdAt: moment().notNull(),
    /** To the minute. */
    seenAt: moment().notNull(),
    expiresAt: moment().notNull(),
    /** Where it was opened from. */
    ip: text(),
    /** The browser in a few words. */
    agent: text().notNull(),
  },
  t => [
    index('console_session_user').on(t.userId),
    check('console_session_hash_length', sql`octet_length(${t.tokenHash}) = 32`),
  ],
)

/** A link that works once. */
export const consoleLink = pgTable(
  'console_link',
  {
    /** SHA-256 of the token, which is in the link and nowhere else. */
    tokenHash: bytes().primaryKey(),
    kind: text().$type<LinkKind>().notNull(),
    /** Whom it is for, lower-cased; null only for `first_owner`. */
    email: text(),
    /** What an invited user becomes; null: no administrator. */
    role: text().$type<Role>(),
    /** The administrator who made it; null: the console itself, or the command line. */
    madeBy: bigint({ mode: 'number' }).references(() => consoleUser.id, { onDelete: 'cascade' }),
    createdAt: moment().notNull(),
    expiresAt: moment().notNull(),
    usedAt: moment(),
  },
  t => [
    index('console_link_email').on(t.email),
    index('console_link_made_by').on(t.madeBy),
    check('console_link_hash_length', sql`octet_length(${t.tokenHash}) = 32`),
    check('console_link_kind', sql`${t.kind} in ('first_owner', 'invite', 'password_reset', 'signup')`),
    check('console_link_email_lower', sql`${t.email} = lower(${t.email})`),
    check('console_link_email', sql`(${t.kind} = 'first_owner') = (${t.email} is null)`),
    check('console_link_role', sql`${t.role} in ('read_only', 'admin', 'owner')`),
  ],
)

/** What replaces a lost second factor, each once. Rows go when they are used. */
export const recoveryCode = pgTable(
  'recovery_code',
  {
    userId: reference().references(() => consoleUser.id, { onDelete: 'cascade' }),
    /** SHA-256 of the code. */
    codeHash: bytes().notNull(),
  },
  t => [primaryKey({ columns: [t.userId, t.codeHash] })],
)

/** Whose holder wants a mail when the balance falls below an amount (src/console/money/credit-notices.ts). */
export const creditNotice = pgTable(
  'credit_notice',
  {
    accountId: bigint({ mode: 'number' })
      .primaryKey()
      .references(() => account.id),
    belowNano: nano().notNull(),
    /** `credits` of the wallet when the mail was sent: the next one is sent after more was put in. Null: none was. */
    toldCredits: nano(),
  },
  t => [check('credit_notice_below', sql`${t.belowNano} > 0`)],
)

/** Every administrative act, written in the transaction that it is about. Append-only, by trigger. */
export const adminAct = pgTable(
  'admin_act',
  {
    id: identity(),
    at: moment().notNull().default(sql`clock_timestamp()`),
    /** Null: the command line, or the printed link. No foreign key: the log outlives everybody. */
    userId: bigint({ mode: 'number' }),
    /** As the user was called then. */
    email: text().notNull(),
    /** `account.suspend`, `channel.change`... */
    action: text().notNull(),
    /** What it was done to: `account 17`, `channel openai-main`. */
    target: text().notNull(),
    /** What it was before and after, without secrets; null: it was not there. */
    before: jsonb().$type<JsonObject>(),
    after: jsonb().$type<JsonObject>(),
    ip: text(),
  },
  t => [index('admin_act_user').on(t.userId, t.at, t.id), index('admin_act_at').on(t.at, t.id)],
)

/** `unkept`: it ended well, but its answer cannot be given again. `failed`: the key is free again. */
export type RunState = 'running' | 'complete' | 'unkept' | 'failed'

/** The run of a request that came with an Idempotency-Key (src/exchange/idempotency/). No foreign keys. */
export const idempotentRun = pgTable(
  'idempotent_run',
  {
    id: uuid().primaryKey(),
    accountId: reference(),
    /** As the caller sent it. */
    key: text().notNull(),
    /** SHA-256 of the path and the body. */
    fingerprint: bytes().notNull(),
    state: text().$type<RunState>().notNull().default('running'),
    /** While it runs, its process renews this; past it, by the clock of the database, whoever asks takes over. */
    leasedUntil: moment().notNull(),
    /** Its process died, and a retry took the key: what it is charged is given back for as long as it is kept. */
    takenOver: boolean().notNull().default(false),
    /** Status and headers of the answer; null until its head is known. */
    status: integer(),
    headers: jsonb().$type<Record<string, string>>(),
    expiresAt: moment().notNull(),
  },
  t => [
    uniqueIndex('idempotent_run_key').on(t.accountId, t.key).where(sql`${t.state} <> 'failed'`),
    index('idempotent_run_due').on(t.expiresAt),
    index('idempotent_run_taken_over').on(t.id).where(sql`${t.takenOver}`),
    check('idempotent_run_state', sql`${t.state} in ('running', 'complete', 'unkept', 'failed')`),
    check('idempotent_run_fingerprint', sql`octet_length(${t.fingerprint}) = 32`),
    check('idempotent_run_complete', sql`${t.state} <> 'complete' or ${t.status} is not null`),
  ],
)

/** A stretch of the body of a run's answer, in the order of `seq`; those who wait for the answer read along. */
export const idempotentChunk = pgTable(
  'idempotent_chunk',
  {
    runId: uuid()
      .notNull()
      .references(() => idempotentRun.id, { onDelete: 'cascade' }),
    /** From 0. */
    seq: integer().notNull(),
    /** Sealed with TOLLGATE_SECRET (src/secrets/secret-box.ts). */
    content: bytes().notNull(),
    /** On the last one: how the body ended, by its end or by a broken connection. */
    ending: text().$type<'closed' | 'broken'>(),
  },
  t => [
    primaryKey({ columns: [t.runId, t.seq] }),
    check('idempotent_chunk_ending', sql`${t.ending} in ('closed', 'broken')`),
  ],
)

/** How far a video is, as OpenAI spells it. */
export type VideoState = 'queued' | 'in_progress' | 'completed' | 'failed'
/** What became of the money that was set aside for a job. */
export type JobMoney = 'held' | 'charged' | 'released'

/**
 * A video that was ordered (src/exchange/videos/). The table is ours: upstreams have no lists that can be told
 * apart by account, or none at all. No foreign keys: a job outlives its model and its channel.
 */
export const videoJob = pgTable(
  'video_job',
  {
    /** The request id of the order: the id of its hold and of its charge, and what the caller's id is made of. */
    id: uuid().primaryKey(),
    accountId: reference(),
    keyId: reference(),
    /** The model's id, and the name by which the caller called it. */
    model: text().notNull(),
    calledModel: text().notNull(),
    /** The channel that makes it, by name, and SHA-256 of the key that it was ordered with: no other key sees it there. */
    channel: text().notNull(),
    channelFormat: text().$type<Format>().notNull(),
    channelKeyHash: bytes(),
    upstreamModel: text().notNull(),
    /** The upstream's id of it; Gemini's is the full name of an operation. */
    upstreamId: text().notNull(),
    /** What was asked for and what the upstream said last, as JSON, sealed with TOLLGATE_SECRET. */
    content: bytes().notNull(),
    state: text().$type<VideoState>().notNull().default('queued'),
    /** In per cent. */
    progress: integer().notNull().default(0),
    /** The job that this one changes. */
    remixOf: uuid(),
    /** Seconds of video that were ordered, all samples together: what is held. */
    orderedSeconds: integer().notNull(),
    priceVersion: bigint({ mode: 'bigint' }).notNull(),
    /** Whether its money is still set aside; charged or given back once it has ended. */
    money: text().$type<JobMoney>().notNull().default('held'),
    createdAt: moment().notNull().defaultNow(),
    endedAt: moment(),
    /** Until when the upstream keeps the film; null: it does not say. */
    keptUntil: moment(),
    /** From then on no caller sees it; it is looked after to its end all the same. */
    deletedAt: moment(),
    /** What has not ended by then has failed. */
    deadline: moment().notNull(),
    /** When a process looks at it next, and until when one is at it. */
    lookAt: moment().notNull(),
    leasedUntil: moment(),
  },
  t => [
    index('video_job_account').on(t.accountId, t.id),
    index('video_job_due').on(t.lookAt).where(sql`${t.money} = 'held'`),
    check('video_job_id', isUuidV7(t.id)),
    check('video_job_state', sql`${t.state} in ('queued', 'in_progress', 'completed', 'failed')`),
    check('video_job_money', sql`${t.money} in ('held', 'charged', 'released')`),
    check('video_job_progress', sql`${t.progress} between 0 and 100`),
    check('video_job_seconds', sql`${t.orderedSeconds} >= 0`),
  ],
)
