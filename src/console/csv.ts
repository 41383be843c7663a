/**
 * Comma-separated values as RFC 4180 has them. A cell that a spreadsheet would take for a formula begins with an
 * apostrophe; plain numbers, negative ones too, stay numbers.
 */
export function csv(
  headings: readonly string[],
  rows: Iterable<readonly (string | number | null)[]>,
): string {
  const lines = [headings.map(cell).join(',')]
  for (const row of rows) lines.push(row.map(value => cell(value === null ? '' : String(value))).join(','))
  return `${lines.join('\r\n')}\r\n`
}

function cell(text: string): string {
  const isNumber = /^-?\d+(\.\d+)?$/.test(text)
  const harmless = !isNumber && /^[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** A file to keep. */
export function csvResponse(name: string, text: string): Response {
  return new Response(text, {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}"`,
    },
  })
}
