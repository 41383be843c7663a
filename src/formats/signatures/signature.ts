import { FORMATS, type Format } from '@/generation/format.ts'
import { type ReasoningPart, reasoningPart, type Signature } from '@/generation/part.ts'
import { asArray, asObject, asString, asStrings, type JsonValue } from '@/json/json.ts'
import { indexOfMark } from '@/json/mark.ts'
import type { Outline } from '@/json/outline.ts'

/**
 * A signature on its way through a format that is not its own: `tollgate.1.<format>.<vendor>.<payload>` in base64url,
 * so that it fits every opaque field (Gemini's must be base64) and is recognised when the caller sends it back.
 */
const PREFIX = 'tollgate.1.'

/** The signature as the value of a caller's opaque field; its own value where the caller's format made it. */
export function wrapSignature(signature: Signature, callerFormat: Format): string {
  if (signature.format === callerFormat && signature.vendor === undefined) return signature.value
  const plain = `${PREFIX}${FORMATS.indexOf(signature.format)}.${encodeVendor(signature.vendor ?? '')}.${signature.value}`
  return Buffer.from(plain, 'utf8').toString('base64')
}

/** A vendor is a host name most of the time, and a dot ends it here. */
function encodeVendor(vendor: string): string {
  return encodeURIComponent(vendor).replaceAll('.', '%2E')
}

/** The start of every wrapped signature, compared before anything is decoded. */
const MARK = Buffer.from(PREFIX, 'utf8').toString('base64').slice(0, 12)
const MARK_BYTES = Buffer.from(MARK)

/** Reads an opaque field that a caller sent back: a wrapped signature, or one of the caller's own format. */
export function unwrapSignature(value: string, callerFormat: Format): Signature {
  const own: Signature = { format: callerFormat, vendor: undefined, value }
  if (!value.startsWith(MARK)) return own
  const plain = Buffer.from(value, 'base64').toString('utf8')
  if (!plain.startsWith(PREFIX)) return own
  const [index = '', vendor = ''] = plain.slice(PREFIX.length).split('.', 2)
  const format = FORMATS[Number(index)]
  if (format === undefined) return own
  const payload = plain.slice(PREFIX.length + index.length + 1 + vendor.length + 1)
  return { format, vendor: vendor === '' ? undefined : decodeURIComponent(vendor), value: payload }
}

/**
 * The signature's value if this upstream made it, else undefined. An untagged one came from the caller in its own
 * format, so it is believed when the formats agree.
 */
export function signatureFor(
  signature: Signature | undefined,
  format: Format,
  vendor: string,
): string | undefined {
  if (signature === undefined || signature.format !== format) return undefined
  return signature.vendor === undefined || signature.vendor === vendor ? signature.value : undefined
}

/**
 * Whether a body holds a wrapped signature, so that it may not be handed on as it is. Looks at bytes only; where there is
 * an outline of them, not at what stands within long strings, since a signature is the whole of its string.
 */
export function carriesWrappedSignature(body: Uint8Array, outline?: Outline): boolean {
  return outline?.mentions(MARK_BYTES) ?? indexOfMark(body, MARK_BYTES) >= 0
}

/** The same for whole thoughts, where a caller brings signatures back but not what they sign: a JSON list. */
const THOUGHTS_PREFIX = 'tollgate.2.'

/** Thoughts, signed by another vendor, as the value of an opaque field. Unsigned ones are of no use to anybody. */
export function wrapThoughts(thoughts: readonly ReasoningPart[]): string {
  const list = thoughts.map(({ texts, raw, redacted, signature }) => ({ texts, raw, redacted, signature }))
  return Buffer.from(`${THOUGHTS_PREFIX}${JSON.stringify(list)}`, 'utf8').toString('base64')
}

/** The thoughts in an opaque field that a caller sent back; undefined where it holds something else. */
export function unwrapThoughts(value: string): ReasoningPart[] | undefined {
  if (!value.startsWith(MARK)) return undefined
  const plain = Buffer.from(value, 'base64').toString('utf8')
  if (!plain.startsWith(THOUGHTS_PREFIX)) return undefined
  const list = parseList(plain.slice(THOUGHTS_PREFIX.length))
  return list?.flatMap(item => readThought(item) ?? [])
}

function readThought(value: JsonValue): ReasoningPart | undefined {
  const thought = asObject(value)
  const signature = asObject(thought?.['signature'])
  const format = FORMATS.find(known => known === signature?.['format'])
  const signed = asString(signature?.['value'])
  if (format === undefined || signed === undefined) return undefined
  return reasoningPart({
    texts: asStrings(thought?.['texts']),
    raw: thought?.['raw'] === true,
    redacted: thought?.['redacted'] === true,
    signature: { format, vendor: asString(signature?.['vendor']), value: signed },
  })
}

function parseList(text: string): JsonValue[] | undefined {
  try {
    return asArray(JSON.parse(text))
  } catch {
    return undefined
  }
}
