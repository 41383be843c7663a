import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'

/**
 * The console's API is a set of contracts, one entry for each route, by `METHOD /path`. The server builds its routes
 * from them (controller.ts), so that none can forget its guard or its schemas; the page takes only their types.
 */

/** Who may call a route. Each of the last four includes those below it. */
export type Access =
  /** Everybody, signed in or not. */
  | 'anyone'
  /** A signed-in user, whatever the role; sees what belongs to the own account and nothing else. */
  | 'holder'
  /** `read_only`: sees what administrators see. */
  | 'reader'
  /** `admin`: changes it. */
  | 'admin'
  /** `owner`: also says who is an administrator. */
  | 'owner'

/** What an answer's body is. */
type AnswerKind =
  /** As `response` says. */
  | 'json'
  /** A file to keep. */
  | 'csv'
  /** A page to print. */
  | 'page'
  /** Server-sent events; each `data` is JSON as `response` says. */
  | 'events'
  /** The API host's own answer, whatever it is. */
  | 'relay'

/** What a route takes, what it answers, and who may call it. */
export interface RouteContract {
  access: Access
  answers?: AnswerKind
  params?: TObject
  query?: TObject
  body?: TSchema
  /**
   * The field of the body that has the password of who is signed in, since a session alone is not enough for what lets
   * somebody in, says who administers or takes a second factor away. Where it may be left out the handler says when.
   */
  asks?: 'password' | 'current'
  response: TSchema
}

/** `METHOD /path` with `:name` for parameters; those of a path are percent-encoded. */
export type RouteName = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /api/${string}`

/** The routes of one subject, by method and path. */
export type Contracts = Record<RouteName, RouteContract>

/** Keeps the exact types of the contracts. */
export function contracts<const Routes extends Contracts>(routes: Routes): Routes {
  return routes
}

/** What a caller of a route gives. */
export type Input<Route extends RouteContract> = (Route['params'] extends TSchema
  ? { params: Static<Route['params']> }
  : unknown) &
  (Route['query'] extends TSchema ? { query: Static<Route['query']> } : unknown) &
  (Route['body'] extends TSchema ? { body: Static<Route['body']> } : unknown)

/** What a caller of a route gets. */
export type Output<Route extends RouteContract> = Static<Route['response']>

/** Every failure of the API, whatever its status. */
const failure = Type.Object({
  error: Type.Object({
    code: Type.Union([
      /** 400: `field` says which. */
      Type.Literal('invalid_request'),
      /** 401: nobody is signed in, or not any more. */
      Type.Literal('unauthenticated'),
      /** 401: the password is right, `code` is missing or wrong. */
      Type.Literal('second_factor_required'),
      /** 401: the address, the password or the code is wrong; which one is not told. */
      Type.Literal('wrong_credentials'),
      /** 403: the role does not allow it, or the request came from another page. */
      Type.Literal('forbidden'),
      /** 404: also what belongs to another account. */
      Type.Literal('not_found'),
      /** 409: it would contradict what is there. */
      Type.Literal('refused'),
      /** 429: `retry_after` says when. */
      Type.Literal('rate_limited'),
      /** 503 */
      Type.Literal('unavailable'),
      /** 500 */
      Type.Literal('internal_error'),
    ]),
    /** For people. */
    message: Type.String(),
    /** The field of the request that is wrong, as in `models[0]`. */
    field: Type.Optional(Type.String()),
    /** Seconds. */
    retry_after: Type.Optional(Type.Integer()),
  }),
})
export type Failure = Static<typeof failure>
export type FailureCode = Failure['error']['code']
