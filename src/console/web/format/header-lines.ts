/** Headers as people type them: `name: value`, one a line. */
export function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

/** The inverse; undefined if a line is no header. */
export function readHeaderLines(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const match = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*?)\s*$/.exec(line)
    if (match === null) return undefined
    const [, name = '', value = ''] = match
    headers[name] = value
  }
  return headers
}
