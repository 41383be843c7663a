import { type Static, Type } from '@sinclair/typebox'
import { REASONING_FIELDS } from '@/generation/reasoning-field.ts'
import { THINK_TAGS } from '@/generation/think-tags.ts'
import { contracts } from './route.ts'
import {
  closed,
  done,
  format,
  id,
  line,
  moment,
  name,
  nullable,
  oneOf,
  prices,
  revision,
  surface,
} from './words.ts'

/** Channels and models by the names of tollgate.yaml. */

const whole = (minimum: number, maximum: number) => Type.Optional(Type.Integer({ minimum, maximum }))

const timeouts = Type.Object(
  { connect_ms: whole(1, 86_400_000), first_byte_ms: whole(1, 86_400_000), idle_ms: whole(1, 86_400_000) },
  { additionalProperties: false },
)

const thinkTags = oneOf(THINK_TAGS)
const reasoningField = oneOf(REASONING_FIELDS)

const breaker = closed({
  state: oneOf(['closed', 'open', 'half-open']),
  cause: nullable(Type.String()),
  /** The vendor's words, or ours of it. */
  reason: nullable(Type.String()),
  /** When it is tried again. */
  until: nullable(moment),
  succeeded: Type.Integer(),
  failed: Type.Integer(),
})

/** Models, by the upstream's names, that a key is not asked for, or for a try: the upstream refused it for them, or they are at its limit. */
const pausedModels = Type.Array(closed({ model: Type.String(), breaker }))

/** A channel with its pool of keys and how it does. */
const channel = closed({
  name: Type.String(),
  format,
  base_url: Type.String(),
  /** `hint` is the last characters of a long key, `...a1b2`; null of a short one. The key itself is never told. */
  api_keys: Type.Array(closed({ id, hint: nullable(Type.String()), breaker, paused_models: pausedModels })),
  priority: Type.Integer(),
  weight: Type.Integer(),
  headers: Type.Record(Type.String(), Type.String()),
  timeouts,
  max_concurrent: nullable(Type.Integer()),
  function_tools_only: Type.Boolean(),
  think_tags: nullable(thinkTags),
  reasoning_field: nullable(reasoningField),
  cache_prompts: Type.Boolean(),
  allow_private: Type.Boolean(),
  /** As the process that answers sees it. */
  health: closed({ breaker, first_byte_ms: nullable(Type.Integer()) }),
  /** Models with a route through it. */
  models: Type.Array(Type.String()),
  revision,
})
export type Channel = Static<typeof channel>

/** A key that is there already, by its id, or a new one. */
const keyEntry = Type.Union([
  closed({ id }),
  closed({ secret: Type.String({ minLength: 1, maxLength: 4000 }) }),
])

const channelFields = {
  format,
  base_url: Type.String({ minLength: 1, maxLength: 2000 }),
  /** In the order of the pool; one that is left out is forgotten. */
  api_keys: Type.Array(keyEntry, { maxItems: 200 }),
  priority: whole(-1_000_000, 1_000_000),
  weight: whole(0, 1_000_000),
  headers: Type.Optional(Type.Record(Type.String({ maxLength: 200 }), Type.String({ maxLength: 4000 }))),
  timeouts: Type.Optional(timeouts),
  max_concurrent: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  function_tools_only: Type.Optional(Type.Boolean()),
  /** Null or left out: its models keep thoughts out of the text. */
  think_tags: Type.Optional(nullable(thinkTags)),
  /** Null or left out: by its host. */
  reasoning_field: Type.Optional(nullable(reasoningField)),
  cache_prompts: Type.Optional(Type.Boolean()),
  /** Left out: whether the address says so itself, as `127.0.0.1` does. */
  allow_private: Type.Optional(Type.Boolean()),
}

/** What a channel is made from. */
const newChannel = closed({ name, ...channelFields })
export type NewChannel = Static<typeof newChannel>
const byName = closed({ name })

const route = closed({
  channel: Type.String(),
  /** What the upstream calls the model. */
  model: Type.String(),
  priority: Type.Integer(),
  weight: Type.Integer(),
})

/** A model with its routes and the prices in force. */
const model = closed({
  id: Type.String(),
  aliases: Type.Array(Type.String()),
  display_name: Type.String(),
  owned_by: Type.String(),
  channels: Type.Array(route),
  /** Null: wherever its channels can serve. */
  surfaces: nullable(Type.Array(surface)),
  enabled_by_default: Type.Boolean(),
  context_tokens: nullable(Type.Integer()),
  max_output_tokens: nullable(Type.Integer()),
  /** Null: unpriced, which is refused and not free. */
  prices: nullable(prices),
  /** In force. */
  price_version: nullable(Type.String()),
  created_at: moment,
  revision,
})
export type Model = Static<typeof model>

const modelFields = {
  aliases: Type.Optional(Type.Array(name, { maxItems: 100 })),
  display_name: Type.Optional(line),
  owned_by: Type.Optional(line),
  channels: Type.Array(
    closed({
      channel: name,
      model: Type.Optional(name),
      priority: whole(-1_000_000, 1_000_000),
      weight: whole(0, 1_000_000),
    }),
    { minItems: 1, maxItems: 100 },
  ),
  surfaces: Type.Optional(nullable(Type.Array(surface))),
  enabled_by_default: Type.Optional(Type.Boolean()),
  context_tokens: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  max_output_tokens: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 2_147_483_647 }))),
  prices: Type.Optional(nullable(prices)),
}

/** What a model is made from. */
const newModel = closed({ id: name, ...modelFields })
export type NewModel = Static<typeof newModel>
const byModel = closed({ id: name })

/** A rate that changes by more than a factor of two. */
const jump = closed({ model: Type.String(), rate: Type.String(), from: Type.String(), to: Type.String() })

/** What a model cost from a moment on. */
const priceVersion = closed({
  version: Type.String(),
  /** Null: from here on it is unpriced. */
  prices: nullable(prices),
  valid_from: moment,
  source: Type.String(),
  created_at: moment,
})

/** What the shipped catalogue knows of a vendor: how it is reached, and its models at list price. */
const vendor = closed({
  /** `OpenAI`, `Anthropic`, `Gemini`. */
  name: Type.String(),
  channel: closed({ name: Type.String(), format, base_url: Type.String() }),
  models: Type.Array(
    closed({
      id: Type.String(),
      display_name: Type.String(),
      context_tokens: nullable(Type.Integer()),
      max_output_tokens: nullable(Type.Integer()),
      prices: nullable(prices),
      /** Whether a model of this id is there already. */
      present: Type.Boolean(),
    }),
  ),
})
export type Vendor = Static<typeof vendor>

/** Channels: made, changed, tried and removed. */
export const adminChannelRoutes = contracts({
  'GET /api/admin/channels': { access: 'reader', response: closed({ items: Type.Array(channel) }) },
  'GET /api/admin/channels/:name': { access: 'reader', params: byName, response: channel },
  /** Refused if there is one of that name. */
  'POST /api/admin/channels': { access: 'admin', body: newChannel, response: channel },
  /** Replaces everything about it but its name. */
  'PUT /api/admin/channels/:name': {
    access: 'admin',
    params: byName,
    body: closed({ revision, ...channelFields }),
    response: channel,
  },
  /** Also the routes of models through it. */
  'DELETE /api/admin/channels/:name': {
    access: 'admin',
    params: byName,
    response: closed({ ok: Type.Literal(true), models_without_channel: Type.Array(Type.String()) }),
  },
  /** Sends one small real request on it, with each of its keys. Without `model`: that of a route through it. */
  'POST /api/admin/channels/:name/test': {
    access: 'admin',
    params: byName,
    body: closed({ model: Type.Optional(name) }),
    response: closed({
      model: Type.String(),
      items: Type.Array(
        closed({
          key_id: nullable(id),
          ok: Type.Boolean(),
          status: nullable(Type.Integer()),
          /** Until the answer was whole. */
          ms: Type.Integer(),
          /** What the upstream said, or what went wrong; no more than 500 characters. */
          message: Type.String(),
        }),
      ),
    }),
  },
})

/** Models and their prices, and the catalogue to choose from. */
export const adminModelRoutes = contracts({
  'GET /api/admin/models': { access: 'reader', response: closed({ items: Type.Array(model) }) },
  'GET /api/admin/models/:id': {
    access: 'reader',
    params: byModel,
    response: closed({ model, versions: Type.Array(priceVersion) }),
  },
  /** Refused if there is one of that id. */
  'POST /api/admin/models': {
    access: 'admin',
    body: newModel,
    response: closed({ model, jumps: Type.Array(jump) }),
  },
  /** Replaces everything about it but its id. */
  'PUT /api/admin/models/:id': {
    access: 'admin',
    params: byModel,
    body: closed({ revision, ...modelFields }),
    response: closed({ model, jumps: Type.Array(jump) }),
  },
  'DELETE /api/admin/models/:id': { access: 'admin', params: byModel, response: done },
  /** What new prices would change: jumps, and what the last 30 days would have cost. Nothing is written. */
  'POST /api/admin/models/:id/preview': {
    access: 'admin',
    params: byModel,
    body: closed({ prices: nullable(prices) }),
    response: closed({
      before: nullable(prices),
      after: nullable(prices),
      jumps: Type.Array(jump),
      /** Requests of this model in the last 30 days that reported their use, and what they cost and would cost. */
      requests: Type.Integer(),
      cost_before: Type.String(),
      cost_after: Type.String(),
    }),
  },
  /** What the release ships of vendors' models and their list prices. */
  'GET /api/admin/catalogue': { access: 'reader', response: closed({ items: Type.Array(vendor) }) },
  /** Adds models of a vendor on a channel that is there. Those that are there keep what they have. */
  'POST /api/admin/catalogue/import': {
    access: 'admin',
    body: closed({
      vendor: name,
      channel: name,
      models: Type.Array(name, { minItems: 1, maxItems: 500 }),
    }),
    response: closed({ added: Type.Array(Type.String()), present: Type.Array(Type.String()) }),
  },
})
