/**
 * The media type and base64 of a `data:` URI; undefined for any other text. Takes media type parameters, a payload
 * without `;base64`, percent-encoding, white space and the url-safe alphabet.
 */
export function parseDataUri(uri: string): { mediaType: string; base64: string } | undefined {
  if (uri.slice(0, 5).toLowerCase() !== 'data:') return undefined
  const comma = uri.indexOf(',')
  if (comma < 0) return undefined
  const [type = '', ...parameters] = uri.slice(5, comma).split(';')
  const payload = uri.slice(comma + 1)
  const encoded = parameters.some(parameter => parameter.trim().toLowerCase() === 'base64')
  return {
    mediaType: type.trim().toLowerCase() || 'text/plain',
    base64: encoded ? plainBase64(payload) : Buffer.from(percentDecoded(payload), 'utf8').toString('base64'),
  }
}

function plainBase64(payload: string): string {
  // Images are large and nearly always plain already: look before copying.
  if (/^[A-Za-z0-9+/=]*$/.test(payload)) return payload
  return percentDecoded(payload).replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/')
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
