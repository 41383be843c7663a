import { FORMATS, type Format } from '@/generation/format.ts'
import { type ReasoningPart, reasoningPart, type Signature } from '@/generation/part.ts'
import { asArray, asObject, asString, asStrings, type JsonValue } from '@/json/json.ts'
import { indexOfMark } from '@/json/mark.ts'
import type { Outline } from '@/json/outline.ts'

/**
 * A signature on its way through a format that is not its own: `tollgate.<deployment>.1.<format>.<vendor>.<payload>` in
 * base64, so that it fits every opaque field (Gemini's must be base64) and is recognised when the caller sends it back.
 * What another deployment wrapped, whose upstream we call or who calls us, is as opaque as any vendor's signature.
 */
const MAKER = 'tollgate.'

let ours = marksOf(undefined)

/** Tells in whose name this process wraps, before it wraps anything: what goes by another name is left as it is. */
export function wrapInNameOf(deployment: string | undefined): void {
  ours = marksOf(deployment)
}

function marksOf(deployment: string | undefined) {
  const start = deployment === undefined ? MAKER : `${MAKER}${deployment}.`
  // Three bytes are four characters, whatever follows them.
  const bytes = Buffer.from(Buffer.from(start.slice(0, start.length - (start.length % 3))).toString('base64'))
  return { signature: `${start}1.`, thoughts: `${start}2.`, text: bytes.toString(), bytes }
}

/** The signature as the value of a caller's opaque field; its own value where the caller's format made it. */
export function wrapSignature(signature: Signature, callerFormat: Format): string {
  if (signature.format === callerFormat && signature.vendor === undefined) return signature.value
  const plain = `${ours.signature}${FORMATS.indexOf(signature.format)}.${encodeVendor(signature.vendor ?? '')}.${signature.value}`
  return Buffer.from(plain, 'utf8').toString('base64')
}

/** A vendor is a host name most of the time, and a dot ends it here. */
function encodeVendor(vendor: string): string {
  return encodeURIComponent(vendor).replaceAll('.', '%2E')
}

/** Undefined where a caller made it up. */
function decodeVendor(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

/** Reads an opaque field that a caller sent back: a wrapped signature, or one of the caller's own format. */
export function unwrapSignature(value: string, callerFormat: Format): Signature {
  const own: Signature = { format: callerFormat, vendor: undefined, value }
  const wrapped = unwrap(value, ours.signature)
  if (wrapped === undefined) return own
  const [index = '', encoded = ''] = wrapped.split('.', 2)
  const format = FORMATS[Number(index)]
  const vendor = decodeVendor(encoded)
  if (format === undefined || vendor === undefined) return own
  const payload = wrapped.slice(index.length + 1 + encoded.length + 1)
  return { format, vendor: vendor === '' ? undefined : vendor, value: payload }
}

/** What stands behind a prefix of ours in an opaque field; undefined where it holds something else. */
function unwrap(value: string, prefix: string): string | undefined {
  // Compared before anything is decoded.
  if (!value.startsWith(ours.text)) return undefined
  const plain = Buffer.from(value, 'base64').toString('utf8')
  return plain.startsWith(prefix) ? plain.slice(prefix.length) : undefined
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
 * Whether a body holds a signature that we wrapped, so that it may not be handed on as it is. Looks at bytes only; where
 * there is an outline of them, not at what stands within long strings, since a signature is the whole of its string.
 */
export function carriesWrappedSignature(body: Uint8Array, outline?: Outline): boolean {
  return outline?.mentions(ours.bytes) ?? indexOfMark(body, ours.bytes) >= 0
}

/**
 * Thoughts, signed by another vendor, as the value of an opaque field, where a caller brings signatures back but not what
 * they sign: a JSON list. Unsigned ones are of no use to anybody.
 */
export function wrapThoughts(thoughts: readonly ReasoningPart[]): string {
  const list = thoughts.map(({ texts, raw, redacted, signature }) => ({ texts, raw, redacted, signature }))
  return Buffer.from(`${ours.thoughts}${JSON.stringify(list)}`, 'utf8').toString('base64')
}

/** The thoughts in an opaque field that a caller sent back; undefined where it holds something else. */
export function unwrapThoughts(value: string): ReasoningPart[] | undefined {
  const wrapped = unwrap(value, ours.thoughts)
  const list = wrapped === undefined ? undefined : parseList(wrapped)
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
