import { type Static, Type } from '@sinclair/typebox'
import { SERVICE_TIERS } from '@/generation/service-tier.ts'
import { contracts } from './route.ts'
import {
  byRequest,
  closed,
  endFilter,
  endState,
  entryKind,
  id,
  moment,
  money,
  nullable,
  oneOf,
  page,
  paging,
  surface,
  uuid,
  when,
} from './words.ts'

/** A request as the log shows it. */
export const requestLine = closed({
  id: uuid,
  account_id: id,
  /** Null for holders. */
  account_email: nullable(Type.String()),
  key_id: id,
  /** The key's name, or its prefix where it has none. */
  key_name: Type.String(),
  /** Null: refused before it was known. */
  model: nullable(Type.String()),
  surface,
  streamed: Type.Boolean(),
  status: Type.Integer(),
  end_state: endState,
  /** The `code` of its error. */
  error_code: nullable(Type.String()),
  started_at: moment,
  /** Until the upstream's first output, in ms. */
  first_byte_ms: nullable(Type.Integer()),
  total_ms: Type.Integer(),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  /** Null: not charged. */
  cost: nullable(money),
  /** Null for holders unless the operator shows it. */
  channel: nullable(Type.String()),
})
export type RequestLine = Static<typeof requestLine>

/** A page of the log. */
export const requestPage = closed({
  ...page(requestLine).properties,
  /** Not null: the search was given up at requests of that moment, and `next` goes on from there. */
  searched_to: nullable(moment),
})
export type RequestPage = Static<typeof requestPage>

/** A request that is over, or running, with what was charged for it and why. */
export const receipt = closed({
  request_id: uuid,
  account_id: id,
  /** Null for holders. */
  account_email: nullable(Type.String()),
  key_id: nullable(id),
  key_name: nullable(Type.String()),
  model: nullable(Type.String()),
  channel: nullable(Type.String()),
  surface: nullable(surface),
  streamed: nullable(Type.Boolean()),
  status: nullable(Type.Integer()),
  /** `running`: it is; `expired`: its process died and it was charged at its last checkpoint. */
  end_state: Type.Union([endState, Type.Literal('running'), Type.Literal('expired')]),
  error_code: nullable(Type.String()),
  started_at: nullable(moment),
  first_byte_ms: nullable(Type.Integer()),
  total_ms: nullable(Type.Integer()),
  attempts: nullable(Type.Integer()),
  /** Fields of the request that the upstream's format could not say. */
  losses: Type.Array(Type.String()),
  /** Disjoint counts; null while nothing is known. */
  tokens: nullable(
    closed({
      input_uncached: Type.Integer(),
      cache_read: Type.Integer(),
      cache_write_5m: Type.Integer(),
      cache_write_1h: Type.Integer(),
      output_text: Type.Integer(),
      reasoning: Type.Integer(),
      audio_input: Type.Integer(),
      audio_output: Type.Integer(),
    }),
  ),
  usage_source: nullable(oneOf(['reported', 'estimated', 'missing'])),
  price_version: nullable(Type.String()),
  /** The service tier whose prices of that version hold; null: the model's own. */
  service_tier: nullable(oneOf(SERVICE_TIERS)),
  /** `quantity * rate = amount`; rates are per million tokens, or per request, image or second. */
  lines: Type.Array(
    closed({ bucket: Type.String(), quantity: Type.String(), rate: Type.String(), amount: Type.String() }),
  ),
  /** With all of its twelve places. */
  exact_cost: nullable(Type.String()),
  cost: nullable(money),
  /** Set aside for it now. */
  held: money,
  charges: Type.Array(closed({ kind: entryKind, amount: money, at: moment })),
  /** What its charges sum to. */
  charged: money,
})
export type Receipt = Static<typeof receipt>

/** What a log is searched by; left out: no condition. */
export const requestFilters = {
  model: Type.Optional(Type.String({ maxLength: 200 })),
  key_id: Type.Optional(id),
  /** `200`, or `4xx`. */
  status: Type.Optional(Type.String({ pattern: '^([1-5]\\d\\d|[1-5]xx)$' })),
  end_state: Type.Optional(endFilter),
  /** The beginning of a request id; four characters or more. */
  id: Type.Optional(
    Type.String({
      pattern: '^[\\da-fA-F-]{4,36}$',
      errorMessage: 'Four characters or more of a request id',
    }),
  ),
  from: Type.Optional(when),
  to: Type.Optional(when),
}

/** A holder's requests: the log, its file, receipts, and the log as it grows. */
export const requestRoutes = contracts({
  /** Newest first. */
  'GET /api/requests': {
    access: 'holder',
    query: closed({ ...paging, ...requestFilters }),
    response: requestPage,
  },
  /** The same, all of it. */
  'GET /api/requests.csv': {
    access: 'holder',
    answers: 'csv',
    query: closed(requestFilters),
    response: Type.String(),
  },
  'GET /api/requests/:id': { access: 'holder', params: byRequest, response: receipt },
  /** Each request as it ends: events `request`, and a comment every 15 s. */
  'GET /api/live/requests': { access: 'holder', answers: 'events', response: requestLine },
})
