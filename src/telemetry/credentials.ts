/** A kind of credential as it could stand in any text. The first group says what kind it is and is no secret. */
export type CredentialPattern = RegExp

/**
 * Where a word may begin: not inside of another. In text that went through JSON or a query, the letter or digit before
 * it can be the end of an escape.
 */
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))`

/** Keys by their own looks, of every vendor whose keys have any; masked ones (`sk-ab***yz`) included. */
export const KEYS: readonly CredentialPattern[] = [
  // Ours are 57 characters of base62, wherever they stand, right behind another one too.
  /(sk-)(?:(?!sk-)[A-Za-z0-9]){20,}/g,
  RegExp(`${START}((?:sk|rk|pk|sess|xai|pplx|nvapi|csk)-)[A-Za-z0-9_*.-]{6,}`, 'g'),
  // These two are also words of ours: a key has digits.
  RegExp(`${START}((?:key|fw)-)(?=[A-Za-z_*.-]{0,60}\\d)[A-Za-z0-9_*.-]{6,}`, 'g'),
  RegExp(`${START}((?:sk|rk|pk|gsk|hf|r8|tgp|ghp|gho|ghu)_|glpat[_-])[A-Za-z0-9_*-]{8,}`, 'g'),
  RegExp(`${START}(AIza)[A-Za-z0-9_*-]{10,}`, 'g'),
  RegExp(`${START}(AKIA|ASIA)[A-Z0-9]{12,}`, 'g'),
  RegExp(`${START}(ya29\\.)[A-Za-z0-9_-]+`, 'g'),
  // A JSON Web Token. Its head is short, and without a bound many false starts would cost their square.
  RegExp(`${START}(eyJ)[A-Za-z0-9_-]{8,600}\\.[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)?`, 'g'),
]

/** What stands behind the word, in a header or in a sentence. */
export const BEARER: CredentialPattern = /(\bBearer\s+)[^\s"',;\\]+/gi

/** From a name to its value, in a header, a query or JSON. */
const IS = String.raw`(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?`

/** What a value may begin with: nothing that follows a closing quote in JSON. */
const FIRST = String.raw`[^"',:\s\\\]}]`

/** Secrets by the name that stands before them: headers, query parameters, the password of an address. */
export const NAMED: readonly CredentialPattern[] = [
  /([?&](?:key|api_key|access_token)=)[^&\s"'\\]+/gi,
  RegExp(`((?:api-key|authorization)${IS}(?:[A-Za-z]+\\s+)?)${FIRST}[^"',\\s\\\\]*`, 'gi'),
  RegExp(`(cookie${IS})${FIRST}[^"'\\r\\n\\\\]*`, 'gi'),
  /(:\/\/[^\s:/@"']*:)[^\s@/"']+(?=@)/g,
]
