import { type JsonValue, MAX_PARTS, MAX_VALUES, parseJson } from '@/json/json.ts'
import { holdsUp } from '@/json/parts.ts'
import { ConsoleError } from '../failure.ts'

/**
 * The JSON of a request's body.
 * @throws ConsoleError for another content type, for more bytes than that, for what is no JSON, and for so many parts that
 * reading them would hold up everybody else
 */
export async function readJson(request: Request, maxBytes: number): Promise<JsonValue> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\b/i.test(type))
    throw new ConsoleError('invalid_request', 'The body must be application/json')
  const bytes = await readBytes(request, maxBytes)
  if (holdsUp(bytes))
    throw new ConsoleError(
      'invalid_request',
      `The body must not have more than ${MAX_PARTS} objects, arrays and members, or ${MAX_VALUES} values`,
    )
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new ConsoleError('invalid_request', 'The body is not JSON', { cause })
  }
}

/** @throws ConsoleError for more bytes than that, before they are read */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () =>
    new ConsoleError('invalid_request', `The body must not be larger than ${maxBytes} bytes`)
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
