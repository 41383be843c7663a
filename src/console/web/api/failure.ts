/** An answer that is no success, as a page shows it. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  /** 0 if no answer came at all. */
  readonly status: number
  readonly code: string
  /** The field of the form that the server names; undefined if it is about the whole. */
  readonly field: string | undefined
  /** Of the API host, where the console only handed its answer on. */
  readonly requestId: string | undefined

  constructor(status: number, code: string, message: string, field?: string, requestId?: string) {
    super(message)
    this.status = status
    this.code = code
    this.field = field
    this.requestId = requestId
  }
}

/** Whether the same question may be answered another time: not if it is the question that is wrong, or who asks it. */
export function mayPass({ status }: ApiFailure): boolean {
  return ![400, 403, 404].includes(status)
}

/** Reads the console's error body, `{ error: { code, message, field } }`; says something useful of any other. */
export async function failureOf(response: Response): Promise<ApiFailure> {
  const error = errorOf(await response.json().catch(() => undefined))
  const { code, message, field } = error
  return new ApiFailure(
    response.status,
    typeof code === 'string' ? code : `http_${response.status}`,
    typeof message === 'string'
      ? message
      : `Status ${response.status} came from a server in front of the console. Look whether it was done, then try again.`,
    typeof field === 'string' ? field : undefined,
    response.headers.get('x-request-id') ?? undefined,
  )
}

/**
 * Refuses what was typed into a field, before the server is asked.
 * @throws ApiFailure
 */
export function wrong(field: string | undefined, message: string): never {
  throw new ApiFailure(400, 'invalid_request', message, field)
}

/** What a page says of anything that was thrown. */
export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error
  return unreachable('Check the connection and try again.')
}

/** What is said where no answer came to what changes something. */
export function lostAnswer(): ApiFailure {
  return unreachable('Check the connection, look whether it was done, and try again.')
}

function unreachable(whatToDo: string): ApiFailure {
  return new ApiFailure(0, 'unreachable', `The console cannot be reached. ${whatToDo}`)
}

/** A message that begins with its field's name does without it where the field itself stands, and is a sentence still. */
export function messageBeside(field: string, { message }: ApiFailure): string {
  const name = `${field}: `
  if (!message.startsWith(name)) return message
  return message.charAt(name.length).toUpperCase() + message.slice(name.length + 1)
}

function errorOf(body: unknown): { code?: unknown; message?: unknown; field?: unknown } {
  if (typeof body !== 'object' || body === null || !('error' in body)) return {}
  const { error } = body
  return typeof error === 'object' && error !== null ? error : {}
}
