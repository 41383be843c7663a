import { createHash } from 'node:crypto'

/** That many bytes nobody can guess. */
export type RandomBytes = (bytes: number) => Uint8Array

/** 256 random bits for a cookie or a link, in characters that a URL may hold. */
export function newToken(random: RandomBytes): string {
  return Buffer.from(random(32)).toString('base64url')
}

/** What is stored in a token's place. A slow hash would protect nothing: 256 random bits cannot be guessed. */
export function hashToken(token: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(token).digest())
}
