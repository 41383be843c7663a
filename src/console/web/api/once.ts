/**
 * What a dialog that moves money calls its posting, however often it is sent. 128 random bits; `crypto.randomUUID` is
 * there on https and localhost only.
 */
export function onceId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join('')
}
