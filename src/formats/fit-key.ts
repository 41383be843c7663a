/** A key that a vendor would refuse for its length keeps its one use as a hash: being the same for the same caller. */
export function fitKey(key: string | undefined, maxLength: number): string | undefined {
  if (key === undefined || key.length <= maxLength) return key
  return new Bun.CryptoHasher('sha256').update(key).digest('hex')
}
