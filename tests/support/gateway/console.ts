import type Stripe from 'stripe'
import { box } from '#tests/support/secret.ts'
import { type Clock, systemClock } from '@/clock/clock.ts'
import { type RunningConsole, startConsole } from '@/commands/serve/console.ts'
import type { ConsoleApi, ConsoleInput, ConsoleOutput } from '@/console/api/contract/api.ts'
import type { Failure } from '@/console/api/contract/route.ts'
import type { Mail } from '@/console/mail.ts'
import { createUser } from '@/console/sign-in/links.ts'
import { createPasswords } from '@/console/sign-in/passwords.ts'
import { openSession } from '@/console/sign-in/sessions.ts'
import type { Role } from '@/db/schema.ts'
import { createLog } from '@/telemetry/log.ts'
import type { TestGateway } from './gateway.ts'

export interface TestConsoleOptions {
  clock?: Clock
  publicConsoleUrl?: string
  /** Proxies whose word on a visitor's address counts; none unless given. */
  trustedProxies?: readonly string[]
  stripe?: (secretKey: string) => Promise<Stripe>
  /** The mail server does not answer. */
  mailFails?: boolean
}

export type RouteName = keyof ConsoleApi

/** A browser that is signed in, or is not. */
export interface Visitor {
  cookie: string | undefined
  userId: number
  accountId: number
  email: string
}

export interface TestConsole extends RunningConsole {
  /** What was mailed. */
  mails: Mail[]
  logLines: string[]
  /** A user with an account and this password: `a good password`. */
  signUp(email: string, role?: Role | null): Promise<Visitor>
  /** Calls a route as its page would, and fails unless the answer is a success. */
  call<Name extends RouteName>(
    visitor: Visitor | undefined,
    name: Name,
    input: ConsoleInput<Name>,
  ): Promise<ConsoleOutput<Name>>
  /** The same, whatever the answer. */
  send(visitor: Visitor | undefined, name: RouteName, input?: object, init?: RequestInit): Promise<Response>
  /** The same, where the answer must be a failure. */
  fail(
    visitor: Visitor | undefined,
    name: RouteName,
    input?: object,
  ): Promise<Failure['error'] & { status: number }>
}

export const PASSWORD = 'a good password'

/** A console beside a gateway, on its database and its secret. */
export async function startTestConsole(
  gateway: TestGateway,
  options: TestConsoleOptions = {},
): Promise<TestConsole> {
  const mails: Mail[] = []
  const logLines: string[] = []
  const { database } = gateway
  const running = await startConsole({
    settings: {
      console: { host: '127.0.0.1', port: 0 },
      publicApiUrl: undefined,
      publicConsoleUrl: options.publicConsoleUrl,
      trustedProxies: options.trustedProxies ?? [],
    },
    database,
    secretBox: box,
    clock: options.clock ?? systemClock,
    log: createLog({ level: 'debug', format: 'json' }, { write: line => logLines.push(line) }),
    apiUrl: gateway.url,
    readings: gateway.server.readings,
    passwords: createPasswords({ memoryCost: 1024, timeCost: 1 }),
    async sendMail(_server, mail) {
      if (options.mailFails === true) throw new Error('no mail today')
      mails.push(mail)
    },
    ...(options.stripe === undefined ? {} : { stripe: options.stripe }),
  })
  const { console } = running

  async function send(
    visitor: Visitor | undefined,
    name: RouteName,
    input: object = {},
    init: RequestInit = {},
  ) {
    const { params = {}, query = {}, body } = input as Parts
    const [method = '', pattern = ''] = name.split(' ')
    const path = pattern.replace(/:(\w+)/g, (_, key: string) => encodeURIComponent(String(params[key])))
    const search = new URLSearchParams(
      Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
    )
    return fetch(`${running.url}${path}${search.size === 0 ? '' : `?${search}`}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...init,
      headers: {
        origin: running.url,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(visitor?.cookie === undefined ? {} : { cookie: visitor.cookie }),
        ...init.headers,
      },
    })
  }

  return {
    ...running,
    mails,
    logLines,
    send,
    async signUp(email, role = null) {
      const passwordHash = await console.passwords.hash(PASSWORD)
      const user = await database.orm.transaction(tx => createUser(tx, { email, passwordHash, role }))
      const cookie = await openSession(console, user, { ip: '127.0.0.1', agent: 'Firefox/1 Linux' })
      return { cookie: cookie.split(';')[0], userId: user.id, accountId: user.accountId, email }
    },
    async call<Name extends RouteName>(visitor: Visitor | undefined, name: Name, input: ConsoleInput<Name>) {
      const response = await send(visitor, name, partsOf(input))
      const text = await response.text()
      if (!response.ok) throw new Error(`${name}: ${response.status} ${text}`)
      return agreed<Name>(JSON.parse(text))
    },
    async fail(visitor, name, input = {}) {
      const response = await send(visitor, name, input)
      const text = await response.text()
      if (response.ok) throw new Error(`${name} should have failed: ${text}`)
      const { error }: Failure = JSON.parse(text)
      return { ...error, status: response.status }
    },
  }
}

interface Parts {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
}

/** Which parts an input has depends on its route; to those who only pass them on they are all optional. */
function partsOf(input: unknown): Parts {
  return input as Parts
}

/** The server checks its answers against the contract that this type comes from. */
function agreed<Name extends RouteName>(json: unknown): ConsoleOutput<Name> {
  return json as ConsoleOutput<Name>
}
