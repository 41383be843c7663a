import { GatewayError } from '@/errors/gateway-error.ts'

/**
 * A part of a path as the router's wildcard gives it, which is still percent-encoded, with raw slashes and colons.
 * Undefined when the encoding is broken.
 */
export function readPathText(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

/** The error for a path that nobody can read. */
export function brokenPath(): GatewayError {
  return new GatewayError('invalid_request', 'The path is not valid percent-encoding')
}
