import { createHash, randomBytes } from 'node:crypto'

/** 256 random bits for a cookie or a link, in characters that a URL may hold. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored in a token's place. A slow hash would protect nothing: 256 random bits cannot be guessed. */
export function hashToken(token: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(token).digest())
}
