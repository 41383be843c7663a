/** What LIKE finds a part of a text in lower case by; whatever LIKE has a meaning for means itself. */
export function patternOf(part: string): string {
  return `%${part
    .trim()
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')}%`
}
