import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { TObject, TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Elysia, type HTTPHeaders } from 'elysia'
import type { Role } from '@/db/schema.ts'
import { asObject, asString } from '@/json/json.ts'
import { takesGzip } from '@/net/content-encoding.ts'
import type { Actor } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError } from '../failure.ts'
import { isOwnPage } from '../sign-in/origin.ts'
import {
  confirmPassword,
  findSession,
  hasRank,
  type Origin,
  type SignedIn,
  signInFirst,
} from '../sign-in/sessions.ts'
import type { Access, Contracts, Input, Output, RouteContract, RouteName } from './contract/route.ts'
import { readJson } from './json-body.ts'
import { assertStorable } from './storable.ts'
import { wrongField } from './wrong-field.ts'

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

/** The answer of what has nothing to tell but that it is done. */
export const DONE = { ok: true } as const

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
 * must be who the contract asks for; then everything is checked against its schemas, and the answer as well. Elysia is
 * given no schema: it fails where what does not fit has no text, and repeats it where it has, a password perhaps.
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
    const checks = {
      params: compiled(contract.params),
      query: compiled(contract.query),
      body: compiled(contract.body),
      response: contract.answers === undefined ? compiled(contract.response) : undefined,
    }
    app.route(
      method,
      path,
      async ({ request, params, query, set }) => {
        const sender = await admit(console, request, route, contract)
        const body = checks.body && (await readBody(request, contract, checks.body))
        const input = {
          params: readPart(contract.params, checks.params, params),
          query: readPart(contract.query, checks.query, query),
          body,
        }
        // Who signs by the body reads it, and begins before it is there.
        if (!SIGNED_BY_SENDER.has(route)) listener.takesTime(request)
        const isConfirmed = sender !== undefined && (await confirm(console, sender, contract, body))
        // That took a while, in which the session or the role may have been taken away.
        const signedIn = isConfirmed ? await admit(console, request, route, contract) : sender
        // Elysia measures an answer to a HEAD by reading it to its end, of which a live log has none.
        if (request.method === 'HEAD' && contract.answers !== undefined) return new Response(null)
        const ip = listener.addressOf(request)
        const answer = await handler({
          ...input,
          request,
          signedIn,
          origin: { ip, agent: request.headers.get('user-agent') ?? '' },
          setCookie: (cookie: string) => {
            set.headers['set-cookie'] = cookie
          },
        })
        if (checks.response?.Check(answer) === false)
          throw new Error(`${route} answers what its contract does not say`)
        return contract.answers === undefined ? packed(request, answer, set.headers) : answer
      },
      { parse: 'none' },
    )
  }
  return app
}

const zip = promisify(gzip)
/** What is shorter than this costs more to pack than to send. */
const PACKED_FROM = 16 * 1024

/** A long answer with less to send, for whoever takes that: thousands of models are megabytes that say much twice. */
async function packed(request: Request, answer: unknown, headers: HTTPHeaders): Promise<string | Response> {
  const text = JSON.stringify(answer)
  headers['content-type'] = 'application/json;charset=utf-8'
  if (text.length < PACKED_FROM || !takesGzip(request.headers.get('accept-encoding'))) return text
  return new Response(await zip(text, { level: 1 }), {
    headers: { 'content-encoding': 'gzip', vary: 'accept-encoding' },
  })
}

type Compiled = TypeCheck<TSchema>

function compiled(schema: TSchema | undefined): Compiled | undefined {
  return schema && TypeCompiler.Compile(schema)
}

/** @throws ConsoleError that names the first thing that does not fit */
function fitting(check: Compiled, value: unknown): unknown {
  const wrong = check.Check(value) ? undefined : check.Errors(value).First()
  if (wrong !== undefined) throw wrongField(wrong)
  return value
}

/** Parameters of an address, which are texts, as what the contract says they are. */
function readPart(schema: TObject | undefined, check: Compiled | undefined, texts: unknown): unknown {
  assertStorable(texts)
  if (schema === undefined || check === undefined) return undefined
  const values = Object.entries(asObject(texts) ?? {}).map(([name, text]) => [
    name,
    readText(schema.properties[name], text),
  ])
  return fitting(check, Object.fromEntries(values))
}

/** Numbers are written in digits alone. TypeBox would take `1e3` and `1.9` for 1: the account of somebody else. */
function readText(schema: TSchema | undefined, text: unknown): unknown {
  if (typeof text !== 'string') return text
  if (schema?.['type'] === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text
  if (schema?.['type'] === 'boolean') return text === 'true' || (text === 'false' ? false : text)
  return text
}

async function readBody(
  request: Request,
  { access, answers }: RouteContract,
  check: Compiled,
): Promise<unknown> {
  const max = access === 'anyone' ? MAX_BODY_BYTES.small : MAX_BODY_BYTES.large
  const body = fitting(check, await readJson(request, max))
  // Of what fits there is little to look at. What is handed on is for whom it is handed to.
  if (answers !== 'relay') assertStorable(body)
  return body
}

/** Makes sure of the password where the contract asks for it; false: it does not, or leaves that to the handler. */
async function confirm(
  console: Console,
  { user }: SignedIn,
  { asks }: RouteContract,
  body: unknown,
): Promise<boolean> {
  const password = asks && asString(asObject(body)?.[asks])
  if (asks === undefined || password === undefined) return false
  await confirmPassword(console, user, password, asks)
  return true
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
    throw new ConsoleError(
      'forbidden',
      'This request did not come from the console itself. If it did, PUBLIC_CONSOLE_URL has to be its address in the browser',
    )
  }
  const signedIn = await findSession(console, request)
  if (access === 'anyone') return signedIn
  if (signedIn === undefined) throw signInFirst()
  if (access !== 'holder' && !hasRank(signedIn.user.role, LEAST_ROLE[access])) {
    throw new ConsoleError('forbidden', 'Your role does not allow this')
  }
  return signedIn
}

/** What proves where it is from by itself. */
const SIGNED_BY_SENDER: ReadonlySet<RouteName> = new Set<RouteName>(['POST /api/stripe/webhook'])

/** Object.entries with the keys that the type declares: safe for contracts, which have no others. */
function entriesOf<Routes extends Contracts>(routes: Routes): [keyof Routes & RouteName, RouteContract][] {
  return Object.entries(routes) as [keyof Routes & RouteName, RouteContract][]
}

/** Safe because everything is checked against the schemas that the handler's types come from. */
function untyped(handler: unknown): (call: object) => unknown {
  return handler as (call: object) => unknown
}
