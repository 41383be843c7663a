/**
 * CRC-32C (Castagnoli) of the bytes from `start` to before `end`, which finds every burst of up to 32 wrong bits; zlib
 * and Bun have only the other polynomial.
 */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = -1
  for (let at = start; at < end; at += 1) {
    crc = (TABLE[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8)
  }
  return ~crc >>> 0
}

const REVERSED_POLYNOMIAL = 0x82f63b78

/** Signed, as JavaScript's bit operators reckon: an unsigned one would be converted at every step. */
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ REVERSED_POLYNOMIAL : crc >>> 1
  return crc
})
