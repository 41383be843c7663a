/**
 * The model part of a path, as the router's wildcard gives it: still percent-encoded, with raw slashes and colons.
 * Undefined when the encoding is broken.
 */
export function readModelPath(rest: string): string | undefined {
  try {
    return decodeURIComponent(rest)
  } catch {
    return undefined
  }
}
