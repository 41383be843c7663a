/**
 * Credentials as they could stand in any text of ours. The first group of each pattern stays, so that a line still
 * says whose key it was about.
 */
const CREDENTIALS: readonly RegExp[] = [
  /(\b(?:sk|pk|rk|xai|gsk|key)[-_])[A-Za-z0-9_-]{8,}/g,
  /(\bAIza)[A-Za-z0-9_-]{10,}/g,
  /(\bya29\.)[A-Za-z0-9_-]+/g,
  /(\bBearer\s+)[A-Za-z0-9._~+/=-]+/gi,
  /([?&](?:key|api_key|access_token)=)[^&\s"'\\]+/gi,
  /((?:x-api-key|x-goog-api-key|authorization|cookie)["']?\s*[:=]\s*["']?)[^"',\s\\]+/gi,
  /(:\/\/[^\s:/@"']+:)[^\s@/"']+(?=@)/g,
]

/** The text with every credential replaced by its kind and `[redacted]`. */
export function scrub(text: string): string {
  let clean = text
  for (const pattern of CREDENTIALS) clean = clean.replace(pattern, '$1[redacted]')
  return clean
}
