/** Base64 in the alphabet that every vendor reads. Google takes the one of URLs, too, and its Python SDK writes that one. */
export function standardBase64(data: string): string {
  if (!/[-_]/.test(data)) return data
  // Looked for from the first sign alone, since from each of them would take their square.
  const digits = data
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/(?<!=)=+$/, '')
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=')
}
