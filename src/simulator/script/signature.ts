import type { Format } from '@/generation/format.ts'

/** What a signature is found to be when a client sends it back. */
type SignatureCheck = 'valid' | 'foreign' | 'altered'

/** Vendors bind a signature to themselves; OpenAI's and Anthropic's real ones start so, too. */
const PREFIX: Partial<Record<Format, string>> = {
  'openai-responses': 'gAAAAAB',
  'anthropic-messages': 'EqQB',
}

/** An opaque signature of this simulator for one format and one reasoning text: the same text always gets the same one. */
export function signReasoning(format: Format, text: string): string {
  const digest = digestOf(text)
  const payload = Buffer.from(`tollgate-simulator:${digest}:${seal(format, digest)}`).toString('base64')
  return `${PREFIX[format] ?? ''}${payload}`
}

/** Any instance of the simulator knows its signatures again. `text` undefined or empty: it was not shown, so it is not compared. */
export function checkSignature(format: Format, signature: string, text: string | undefined): SignatureCheck {
  const prefix = PREFIX[format] ?? ''
  if (!signature.startsWith(prefix)) return 'foreign'
  const [maker, digest = '', mac] = Buffer.from(signature.slice(prefix.length), 'base64')
    .toString()
    .split(':')
  if (maker !== 'tollgate-simulator' || mac !== seal(format, digest)) return 'foreign'
  if (text === undefined || text === '') return 'valid'
  return digest === digestOf(text) ? 'valid' : 'altered'
}

function seal(format: Format, digest: string): string {
  return digestOf(`${format}:${digest}:sealed by the simulator`)
}

function digestOf(text: string): string {
  return Bun.hash(text).toString(16).padStart(16, '0')
}
