/** Shorter ones (`none`, `ollama`) are words that a sentence may hold. */
const MIN_LENGTH = 12

/** More than any deployment has. */
const MAX_KNOWN = 10_000

const known = new Set<string>()
/** All spellings by how they begin. A vendor's keys may all begin alike. */
const byHead = new Map<string, { spellings: Set<string>; longestFirst: number[] }>()
/** Which pairs of letters any of them begins with, so that most places of a text need no look. */
const starts = new Uint8Array(4096)

/**
 * Notes a credential that this process sends out. Whoever it is sent to may say it again, in an error or an echo, and not
 * every vendor's key has looks of its own.
 */
export function noteSent(credential: string): void {
  if (credential.length < MIN_LENGTH || known.has(credential)) return
  known.add(credential)
  for (const spelling of spellings(credential)) remember(spelling)
  for (const oldest of known) {
    if (known.size <= MAX_KNOWN) return
    known.delete(oldest)
    for (const spelling of spellings(oldest)) forget(spelling)
  }
}

function remember(spelling: string): void {
  const { length } = spelling
  const alike = byHead.get(headAt(spelling, 0)) ?? { spellings: new Set(), longestFirst: [] }
  alike.spellings.add(spelling)
  if (!alike.longestFirst.includes(length)) {
    alike.longestFirst = [...alike.longestFirst, length].sort((one, other) => other - one)
  }
  byHead.set(headAt(spelling, 0), alike)
  starts[startAt(spelling, 0)] = 1
}

function forget(spelling: string): void {
  const alike = byHead.get(headAt(spelling, 0))
  alike?.spellings.delete(spelling)
  if (alike?.spellings.size === 0) byHead.delete(headAt(spelling, 0))
}

/** The text with every credential that was sent replaced, however it is spelled. */
export function withoutSent(text: string, replacement: string): string {
  let clean = ''
  let from = 0
  for (let at = 0; at + MIN_LENGTH <= text.length; ) {
    const found = starts[startAt(text, at)] === 1 ? spellingAt(text, at) : undefined
    at += found?.length ?? 1
    if (found === undefined) continue
    clean += text.slice(from, at - found.length) + replacement
    from = at
  }
  return from === 0 ? text : clean + text.slice(from)
}

/** The longest, where one begins with another. */
function spellingAt(text: string, at: number): string | undefined {
  const alike = byHead.get(headAt(text, at))
  for (const length of alike?.longestFirst ?? []) {
    const piece = text.slice(at, at + length)
    if (alike?.spellings.has(piece)) return piece
  }
  return undefined
}

function headAt(text: string, at: number): string {
  return text.slice(at, at + MIN_LENGTH)
}

function startAt(text: string, at: number): number {
  return (text.charCodeAt(at) * 64 + text.charCodeAt(at + 1)) % starts.length
}

/** A credential as it is, and as a query, a string of JSON, a dump or Basic authorization has it. */
function spellings(credential: string): Set<string> {
  const bytes = Buffer.from(credential)
  const hex = bytes.toString('hex')
  return new Set([
    credential,
    credential.toLowerCase(),
    encodeURIComponent(credential.toWellFormed()),
    JSON.stringify(credential).slice(1, -1),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].map(before => inBase64(bytes, before)),
  ])
}

/** The letters of base64 that only these bytes decide, where so many stand before them in their group of three. */
function inBase64(bytes: Buffer, before: number): string {
  const all = Buffer.concat([Buffer.alloc(before), bytes])
  return all.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((all.length * 4) / 3))
}
