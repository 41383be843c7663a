/** What people paste into a search, as it is searched for. */

/** Of a whole key its beginning: the rest would let in whoever reads the address of the page. */
export function pastedKey(text: string): string {
  return text.replace(/\b(sk-[\dA-Za-z]{8})[\dA-Za-z]{20,}/g, '$1')
}

/** The request id in whatever was pasted with it, as a whole message; else the characters of a part of one. */
export function pastedRequestId(text: string): string {
  const whole = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i.exec(text)?.[0]
  return whole ?? text.replace(/[^\da-fA-F-]/g, '')
}
