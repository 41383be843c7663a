import type { ConsoleApi, ConsoleInput, ConsoleOutput } from '../../api/contract/api.ts'
import { beginCall } from './calls.ts'
import { failureOf, lostAnswer } from './failure.ts'
import { hearTime } from './server-time.ts'

/** `METHOD /path` of a route of the console's API, as its contract names it. */
type RouteName = keyof ConsoleApi

interface Call<Name extends RouteName> {
  name: Name
  input: ConsoleInput<Name>
  signal?: AbortSignal | undefined
}

/**
 * Calls a route of the console's API.
 * @throws ApiFailure for every answer that is no success
 */
export async function call<Name extends RouteName>(
  name: Name,
  input: ConsoleInput<Name>,
  signal?: AbortSignal,
): Promise<ConsoleOutput<Name>> {
  const response = await send({ name, input, signal })
  const unreadable = async () => {
    throw await failureOf(response)
  }
  return asAgreed<Name>(await response.json().catch(unreadable))
}

/**
 * Calls a route whose answer is not read as JSON here; the caller takes the body as it comes. If the session has ended,
 * it waits for whoever is asked to sign in again, and goes on where it was: a refused call has done nothing.
 * @throws ApiFailure for every answer that is no success
 */
export async function send<Name extends RouteName>(call: Call<Name>): Promise<Response> {
  const response = await ask(call)
  if (response.ok) return response
  const failure = await failureOf(response)
  if (failure.code !== 'unauthenticated' || !(await signInAgain())) throw failure
  const second = await ask(call)
  if (!second.ok) throw await failureOf(second)
  return second
}

async function ask<Name extends RouteName>({ name, input, signal }: Call<Name>): Promise<Response> {
  const { body } = partsOf<Name>(input)
  const method = name.slice(0, name.indexOf(' '))
  const end = beginCall()
  try {
    const response = await fetch(addressOf(name, input), {
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      signal: signal ?? null,
    })
    hearTime(response.headers.get('date'))
    return response
  } catch (error) {
    throw method === 'GET' || signal?.aborted ? error : lostAnswer()
  } finally {
    end()
  }
}

/** Where a route is with this input: for links to files, and for event streams. */
export function addressOf<Name extends RouteName>(name: Name, input: ConsoleInput<Name>): string {
  const { params = {}, query = {} } = partsOf<Name>(input)
  const path = name
    .slice(name.indexOf(' ') + 1)
    .replace(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(String(params[parameter])))
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([field, value]) =>
      value === undefined || value === '' ? [] : [[field, String(value)]],
    ),
  ).toString()
  return search === '' ? path : `${path}?${search}`
}

let signInAgain: () => Promise<boolean> = () => Promise.resolve(false)

/** What happens when the server says that nobody is signed in any more. True: the same person is signed in again. */
export function whenSignedOut(react: () => Promise<boolean>): void {
  signInAgain = react
}

interface Parts {
  params?: Readonly<Record<string, unknown>>
  query?: Readonly<Record<string, unknown>>
  body?: unknown
}

/** Which parts an input has depends on its route; to those who only pass them on they are all optional. */
function partsOf<Name extends RouteName>(input: ConsoleInput<Name>): Parts {
  return input as Parts
}

/** The server builds its answers from the same contract, so what it sent is what the contract says. */
function asAgreed<Name extends RouteName>(json: unknown): ConsoleOutput<Name> {
  return json as ConsoleOutput<Name>
}
