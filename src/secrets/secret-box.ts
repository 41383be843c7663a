import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { Refusal } from '@/errors/refusal.ts'

/** Encrypts what must not lie open in the database: upstream keys, what callers asked to be kept. */
export interface SecretBox {
  /** What a deployment may be known by to anybody: the same for all its processes, and nothing of its secret. */
  readonly deployment: string
  /** Seals a text or bytes. Two seals of one text differ. */
  seal(content: string | Uint8Array): Uint8Array
  /** The text again. Refuses what another secret sealed, or what was changed since. */
  open(sealed: Uint8Array): string
  /** The same for bytes. */
  openBytes(sealed: Uint8Array): Uint8Array
}

/** version (1) | nonce (12) | tag (16) | ciphertext, by AES-256-GCM. */
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES

/** Enough that no two deployments that call one another have the same name. */
const NAME_BYTES = 6

/**
 * A box that only this secret opens.
 * @param name where the secret is from, for whoever has to put the right one there
 */
export function secretBox(secret: string, name = 'TOLLGATE_SECRET'): SecretBox {
  const key = deriveKey(secret, 'secret box')
  return {
    deployment: Buffer.from(deriveKey(secret, 'deployment')).toString('base64url', 0, NAME_BYTES),
    seal: content => seal(key, content),
    open: sealed => open(key, sealed, name).toString('utf8'),
    openBytes: sealed => open(key, sealed, name),
  }
}

/** 32 bytes for one purpose. Keys of different purposes tell nothing of one another. */
export function deriveKey(secret: string, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `tollgate ${purpose}`, 32))
}

function seal(key: Uint8Array, content: string | Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const ciphertext = Buffer.concat([cipher.update(Buffer.from(content)), cipher.final()])
  return Buffer.concat([Uint8Array.of(VERSION), nonce, cipher.getAuthTag(), ciphertext])
}

function open(key: Uint8Array, sealed: Uint8Array, name: string): Buffer {
  if (sealed.length < HEAD_BYTES || sealed[0] !== VERSION) {
    throw new Refusal('An encrypted value in the database is damaged')
  }
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES)), decipher.final()])
  } catch (cause) {
    throw new Refusal(
      `${name} is not the one that encrypted the upstream keys in this database: start with that one`,
      { cause },
    )
  }
}
