import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type RequestBody, readBody } from '@/exchange/admission/body.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import { openBody } from '@/exchange/admission/request-bytes.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import type { StreamedBody } from '@/upstream/request.ts'
import { type Piece, sizeOf, streamOf } from './pieces.ts'
import { Spool } from './spool.ts'

/** A file of a form. Its content is on disk. */
export interface FormFile {
  filename: string
  mediaType: string
  /** In bytes. */
  size: number
  read(): AsyncGenerator<Uint8Array>
}

/** A part of a form, in the order in which it came. */
type FormPart = { name: string } & ({ value: string } | { file: FormFile })

/** The longest value that is no file: what is longer is content, which belongs in one. */
const MAX_VALUE_BYTES = 1024 * 1024

const MAX_PARTS = 1000

/**
 * How much the parser is given at once. It holds back 64 KiB of a part that it passes over (one without a disposition, say),
 * and waits for ever where such a part has more and ends within the same write.
 */
const WRITE_BYTES = 16 * 1024

/**
 * A multipart body, read once: values in memory, files on disk until its exchange ends, so that it can be sent as often as
 * candidates are tried.
 */
export class Form {
  readonly parts: readonly FormPart[]

  constructor(parts: readonly FormPart[]) {
    this.parts = parts
  }

  /** The last value of a name, as most readers of forms take it; undefined if there is none. */
  value(name: string): string | undefined {
    const part = this.parts.findLast(part => part.name === name && 'value' in part)
    return part !== undefined && 'value' in part ? part.value : undefined
  }

  /** All files under one of these names, in order. */
  files(...names: string[]): FormFile[] {
    return this.parts.flatMap(part => (names.includes(part.name) && 'file' in part ? [part.file] : []))
  }

  /** The form anew, with some of its values replaced wherever they stand. */
  encode(values: Readonly<Record<string, string>>): { body: StreamedBody; headers: Record<string, string> } {
    const boundary = `tollgate-${crypto.randomUUID()}`
    const pieces = this.parts.flatMap(part => encodePart(part, values, boundary))
    pieces.push(Buffer.from(`--${boundary}--\r\n`))
    return {
      body: {
        length: sizeOf(pieces),
        open: () => streamOf(pieces),
      },
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    }
  }
}

/**
 * The values of a body. A name that a form has more than once has a list of them: nobody knows which one its readers
 * take. Files are no values.
 */
export function fieldsOf(body: RequestBody | Form): JsonObject {
  if (!(body instanceof Form)) return body.json
  const values = new Map<string, string[]>()
  for (const part of body.parts) {
    if ('value' in part) values.set(part.name, [...(values.get(part.name) ?? []), part.value])
  }
  return Object.fromEntries([...values].map(([name, said]) => [name, said.length === 1 ? said[0] : said]))
}

/**
 * Whether an answer is to flow. Forms say it in a word.
 * @throws GatewayError `invalid_request`
 */
export function asksForStream({ stream }: JsonObject): boolean {
  if (typeof stream === 'boolean') return stream
  const said = asString(stream ?? 'false')?.toLowerCase()
  if (said !== 'true' && said !== 'false') throw invalidRequest('stream', 'expected true or false')
  return said === 'true'
}

/**
 * Reads a multipart body. At no time is more of a file in memory than a piece of it. The disk is given back when the
 * exchange ends.
 * @throws GatewayError `unsupported_media_type`, `body_too_large`, `body_stalled`, `unsupported_encoding`, `invalid_request`
 */
export async function readForm(
  request: Request,
  terms: BodyTerms,
  { releases }: Pick<ExchangeRecord, 'releases'>,
): Promise<Form> {
  if (!isForm(request)) {
    throw new GatewayError(
      'unsupported_media_type',
      'This path takes a form (content-type: multipart/form-data)',
    )
  }
  const spool = new Spool()
  // Nothing depends on it, and an unnamed file is freed with its process at the latest.
  releases.push(() => void spool.close().catch(() => undefined))
  const contentType = request.headers.get('content-type') ?? ''
  return new Form(await parse(contentType, openBody(request, terms), spool))
}

/**
 * Reads a body that is a form if it says so, and else JSON.
 * @throws GatewayError as `readForm` and `readBody` do
 */
export function readFormOrBody(
  request: Request,
  terms: BodyTerms,
  record: Pick<ExchangeRecord, 'releases'>,
): Promise<Form | RequestBody> {
  return isForm(request) ? readForm(request, terms, record) : readBody(request, terms)
}

function isForm({ headers }: Request): boolean {
  return /^multipart\/form-data\b/i.test(headers.get('content-type') ?? '')
}

async function parse(
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  spool: Spool,
): Promise<FormPart[]> {
  const parts: FormPart[] = []
  const reader = createReader(contentType)
  /** Files follow one another on disk, each after the one before it. */
  let copied: Promise<void> = Promise.resolve()
  reader.on('file', (name, stream, filename, _encoding, mediaType) => {
    if (isNameless(name)) reader.destroy(invalidRequest('body', 'a part has no name'))
    // What ends early says so to its file and to the reader; a file that waits for the one before it has nobody who hears.
    stream.on('error', error => reader.destroy(error))
    const file: FileOnDisk = new FileOnDisk(spool, filename, mediaType)
    parts.push({ name, file })
    copied = copied.then(() => file.take(stream))
    copied.catch(error => reader.destroy(error))
  })
  reader.on('field', (name, value, isNameCut, isValueCut) => {
    if (isNameless(name)) reader.destroy(invalidRequest('body', 'a part has no name'))
    else if (isNameCut || isValueCut)
      reader.destroy(invalidRequest(name.slice(0, 100), 'too long for a value'))
    parts.push({ name, value })
  })
  reader.on('partsLimit', () => reader.destroy(invalidRequest('body', `more than ${MAX_PARTS} parts`)))
  const ended = new Promise<void>((resolve, reject) => {
    reader.on('finish', resolve)
    reader.on('error', reject)
  })
  ended.catch(() => undefined)
  try {
    for await (const chunk of body) {
      for (let at = 0; at < chunk.length; at += WRITE_BYTES) {
        const hasRoom = reader.write(chunk.subarray(at, at + WRITE_BYTES))
        // What is passed over is let go in between.
        await (hasRoom ? undefined : Promise.race([drained(reader), ended]))
      }
    }
    reader.end()
    await ended
    await copied
  } catch (error) {
    reader.destroy()
    throw asInvalid(error)
  }
  return parts
}

function createReader(contentType: string) {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { fieldSize: MAX_VALUE_BYTES, parts: MAX_PARTS },
      preservePath: true,
    })
  } catch (error) {
    throw asInvalid(error)
  }
}

/** The parser's types promise a name. */
function isNameless(name: string | undefined): boolean {
  return name === undefined
}

function drained(reader: NodeJS.WritableStream): Promise<void> {
  return new Promise(resolve => reader.once('drain', resolve))
}

/** What the parser says of a body that is no form; its words are about the body's shape only. */
function asInvalid(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  return new GatewayError('invalid_request', 'The body is not valid multipart/form-data', { cause: error })
}

class FileOnDisk implements FormFile {
  readonly filename: string
  readonly mediaType: string
  readonly #spool: Spool
  #start = 0
  #size = 0

  constructor(spool: Spool, filename: string, mediaType: string) {
    this.#spool = spool
    this.filename = filename
    this.mediaType = mediaType
  }

  get size(): number {
    return this.#size
  }

  async take(stream: BusboyFileStream): Promise<void> {
    this.#start = this.#spool.size
    for await (const chunk of stream) await this.#spool.append(chunk)
    this.#size = this.#spool.size - this.#start
  }

  read(): AsyncGenerator<Uint8Array> {
    return this.#spool.read(this.#start, this.#size)
  }
}

function encodePart(part: FormPart, values: Readonly<Record<string, string>>, boundary: string): Piece[] {
  const open = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(part.name)}"`
  if ('value' in part) {
    const value = Object.hasOwn(values, part.name) ? values[part.name] : part.value
    return [Buffer.from(`${open}\r\n\r\n${value}\r\n`)]
  }
  const { file } = part
  const head = `${open}; filename="${quoted(file.filename)}"\r\ncontent-type: ${file.mediaType}\r\n\r\n`
  return [Buffer.from(head), file, Buffer.from('\r\n')]
}

/** As browsers write names and file names. https://html.spec.whatwg.org/#multipart-form-data */
function quoted(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
