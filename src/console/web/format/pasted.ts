/** What people paste, as it is meant: into a search, or into a list of addresses. */

/** Of a whole key its beginning: the rest would let in whoever reads the address of the page. */
export function pastedKey(text: string): string {
  return text.replace(/\b(sk-[\dA-Za-z]{8})[\dA-Za-z]{20,}/g, '$1')
}

/** The request id in whatever was pasted with it, as a whole message; else the characters of a part of one. */
export function pastedRequestId(text: string): string {
  const whole = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i.exec(text)?.[0]
  return whole ?? text.replace(/[^\da-fA-F-]/g, '')
}

/**
 * The addresses of a list, as a mail program or a table has it: each once, in small letters. Of `Ada <ada@example.com>`
 * it is what stands in the angle brackets.
 */
export function pastedAddresses(text: string): string[] {
  const entries = text.match(/(?:"[^"\n]*"|[^"\n,;])+/g) ?? []
  const addresses = entries.flatMap(entry => {
    const named = [...entry.matchAll(/<([^<>]+)>/g)].map(([, address = '']) => address)
    return named.length > 0 ? named : entry.split(/\s+/)
  })
  return [...new Set(addresses.map(address => address.trim().toLowerCase()))].filter(each => each !== '')
}
