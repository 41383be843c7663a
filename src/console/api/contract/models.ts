import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import { closed, nullable, prices, surface } from './words.ts'

/** A model that the account reaches. */
const reachedModel = closed({
  id: Type.String(),
  aliases: Type.Array(Type.String()),
  display_name: Type.String(),
  owned_by: Type.String(),
  /** Where it can be called. */
  surfaces: Type.Array(surface),
  context_tokens: nullable(Type.Integer()),
  max_output_tokens: nullable(Type.Integer()),
  /** With what is planned; null: nobody priced it, so that it cannot be called. */
  prices: nullable(prices),
  price_version: nullable(Type.String()),
})
export type ReachedModel = Static<typeof reachedModel>

/** What a holder may call. */
export const modelRoutes = contracts({
  'GET /api/models': { access: 'holder', response: closed({ items: Type.Array(reachedModel) }) },
  /**
   * One call on the account's bill, with a key that nobody sees. `path` is that of the API host
   * (`/v1/chat/completions`, `/v1/responses`, `/v1/messages`, `/v1beta/models/ID:streamGenerateContent?alt=sse`),
   * `body` the request's JSON. The answer is the API host's own, streamed as it comes: status, content type, and the
   * headers x-request-id, x-tollgate-*, retry-after.
   */
  'POST /api/playground': {
    access: 'holder',
    answers: 'relay',
    body: closed({
      path: Type.String({ maxLength: 600, pattern: '^/(v1|v1beta)/[^#\\s]+$' }),
      body: Type.Unknown(),
      /** `x-tollgate-strict`: what the upstream cannot say is an error instead of a loss. */
      strict: Type.Optional(Type.Boolean()),
    }),
    response: Type.Unknown(),
  },
})
