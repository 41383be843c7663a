import { Value } from '@sinclair/typebox/value'
import { Elysia } from 'elysia'
import type { Role } from '@/db/schema.ts'
import { asObject, asString } from '@/json/json.ts'
import type { Actor } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError } from '../failure.ts'
import { readJson } from '../json-body.ts'
import { isOwnPage } from '../origin.ts'
import { confirmPassword, findSession, hasRank, type Origin, type SignedIn } from '../sessions.ts'
import { assertStorable } from '../storable.ts'
import type { Access, Contracts, Input, Output, RouteContract, RouteName } from './contract/route.ts'

/** What a handler is given of a request, beside what its contract says. */
export interface Incoming<Who> {
  request: Request
  signedIn: Who
  origin: Origin
  /** Sets or ends the session's cookie. */
  setCookie(cookie: string): void
}

type WhoMay<Route extends RouteContract> = Route['access'] extends 'anyone' ? SignedIn | undefined : SignedIn

/** What a handler is called with. */
export type Call<Route extends RouteContract> = Input<Route> & Incoming<WhoMay<Route>>

/** Answers as the contract says or, where that is not JSON, with a response of its own. */
type Handler<Route extends RouteContract> = (
  call: Call<Route>,
) => Route['answers'] extends string ? Promise<Response> : Output<Route> | Promise<Output<Route>>

type Handlers<Routes extends Contracts> = {
  [Name in keyof Routes & RouteName]: Handler<Routes[Name]>
}

/** What only the socket knows of a request. */
export interface Listener {
  addressOf(request: Request): string | undefined
  /** From here on an answer may be as long in coming as it needs. */
  takesTime(request: Request): void
}

/** Bodies of routes that nobody has to sign in for, and those of the rest. */
const MAX_BODY_BYTES = { small: 64 * 1024, large: 8 * 1024 * 1024 }

/**
 * The routes of one subject. Before a body is read, a request must come from the console's own page, and its sender
 * must be who the contract asks for; then everything is checked against its schemas, on the way out as well.
 */
export function controller<Routes extends Contracts>(
  name: string,
  console: Console,
  listener: Listener,
  routes: Routes,
  handlers: Handlers<Routes>,
) {
  const app = new Elysia({ name, normalize: false })
  for (const [route, contract] of entriesOf(routes)) {
    const [method = '', path = ''] = route.split(' ')
    const handler = untyped(handlers[route])
    const whoSent = new WeakMap<Request, SignedIn | undefined>()
    app.route(
      method,
      path,
      async context => {
        if (!readsItsOwnBody(route)) listener.takesTime(context.request)
        return handler({
          params: context.params,
          query: context.query,
          body: context.body,
          request: context.request,
          signedIn: whoSent.get(context.request),
          origin: {
            ip: listener.addressOf(context.request),
            agent: context.request.headers.get('user-agent') ?? '',
          },
          setCookie: (cookie: string) => {
            context.set.headers['set-cookie'] = cookie
          },
        })
      },
      {
        ...schemasOf(contract),
        // Before the body is read; a route without one reads what it is sent by itself, or not at all.
        parse:
          contract.body === undefined
            ? 'none'
            : async ({ request }: { request: Request }) => {
                whoSent.set(request, await admit(console, request, route, contract))
                const isStranger = contract.access === 'anyone'
                const body = await readJson(request, isStranger ? MAX_BODY_BYTES.small : MAX_BODY_BYTES.large)
                // What is handed on is for whom it is handed to.
                if (contract.answers !== 'relay') assertStorable(body)
                return body
              },
        async transform(context: { request: Request; params: unknown; query: unknown }) {
          if (!whoSent.has(context.request)) {
            whoSent.set(context.request, await admit(console, context.request, route, contract))
          }
          assertStorable(context.params)
          assertStorable(context.query)
          if (contract.params !== undefined) context.params = Value.Convert(contract.params, context.params)
          if (contract.query !== undefined) context.query = Value.Convert(contract.query, context.query)
        },
        async beforeHandle({ request, body }: { request: Request; body: unknown }) {
          const user = whoSent.get(request)?.user
          const { asks } = contract
          const password = asks && textIn(body, asks)
          if (user === undefined || asks === undefined || password === undefined) return
          await confirmPassword(console, user, password, asks)
          // That took a while, in which the session or the role may have been taken away.
          whoSent.set(request, await admit(console, request, route, contract))
        },
      },
    )
  }
  return app
}

function textIn(body: unknown, field: string): string | undefined {
  return asString(asObject(body)?.[field])
}

/** Who administers, for the log. */
export function actorOf({ signedIn, origin }: Incoming<SignedIn>): Actor {
  return { userId: signedIn.user.id, email: signedIn.user.email, ip: origin.ip }
}

const LEAST_ROLE: Record<Exclude<Access, 'anyone' | 'holder'>, Role> = {
  reader: 'read_only',
  admin: 'admin',
  owner: 'owner',
}

/** @throws ConsoleError `unauthenticated`, `forbidden` */
async function admit(
  console: Console,
  request: Request,
  route: RouteName,
  { access }: RouteContract,
): Promise<SignedIn | undefined> {
  const isChange = !route.startsWith('GET ')
  if (isChange && !SIGNED_BY_SENDER.has(route) && !isOwnPage(request, console.publicUrl())) {
    throw new ConsoleError('forbidden', 'This request did not come from the console itself')
  }
  const signedIn = await findSession(console, request)
  if (access === 'anyone') return signedIn
  if (signedIn === undefined) throw new ConsoleError('unauthenticated', 'Sign in first')
  if (access !== 'holder' && !hasRank(signedIn.user.role, LEAST_ROLE[access])) {
    throw new ConsoleError('forbidden', 'Your role does not allow this')
  }
  return signedIn
}

/** What proves where it is from by itself. */
const SIGNED_BY_SENDER: ReadonlySet<RouteName> = new Set<RouteName>(['POST /api/stripe/webhook'])

/** Where a handler begins before its body is there. */
function readsItsOwnBody(route: RouteName): boolean {
  return SIGNED_BY_SENDER.has(route)
}

function schemasOf({ params, query, body, response, answers }: RouteContract) {
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body }),
    ...(answers === undefined || answers === 'json' ? { response } : {}),
  }
}

/** Object.entries with the keys that the type declares: safe for contracts, which have no others. */
function entriesOf<Routes extends Contracts>(routes: Routes): [keyof Routes & RouteName, RouteContract][] {
  return Object.entries(routes) as [keyof Routes & RouteName, RouteContract][]
}

/** Safe because Elysia has checked everything against the schemas that the handler's types come from. */
function untyped(handler: unknown): (call: object) => unknown {
  return handler as (call: object) => unknown
}
