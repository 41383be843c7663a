type Row = readonly (string | number | null)[]

/**
 * Comma-separated values as RFC 4180 has them. A cell that a spreadsheet would take for a formula begins with an
 * apostrophe; plain numbers, negative ones too, stay numbers. Where the comma is for decimals, Excel separates cells by
 * semicolons and ends them with lines, whatever is quoted: what stands behind those is a cell as well. It begins with the
 * byte order mark, without which Excel takes UTF-8 for the code page of its machine.
 */
export function csv(headings: readonly string[], rows: Iterable<Row>): string {
  return MARK + lines([headings]) + lines(rows)
}

const MARK = '\ufeff'

function lines(rows: Iterable<Row>): string {
  let text = ''
  for (const row of rows) {
    text += `${row.map(value => cell(value === null ? '' : String(value))).join(',')}\r\n`
  }
  return text
}

/** Where an apostrophe belongs. */
const FORMULA = /^(?=[\t\r\n])|(?<=^|[;\t\r\n]"*)(?=[=+\-@＝＋－＠])/g

function cell(text: string): string {
  const isNumber = /^-?\d+(\.\d+)?$/.test(text)
  const harmless = isNumber ? text : text.replace(FORMULA, "'")
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** A file to keep. */
export function csvResponse(name: string, body: string | ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}"`,
    },
  })
}

/**
 * A file to keep whose rows are read while it is written: however long it is, only a part of it is in memory. The first part
 * is read before it answers, so that what cannot be read is an error, and no file that breaks off.
 */
export async function csvDownload(
  name: string,
  headings: readonly string[],
  parts: AsyncIterator<readonly Row[], void>,
): Promise<Response> {
  const first = await parts.next()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(csv(headings, first.value ?? [])))
      },
      async pull(controller) {
        const { done, value } = await parts.next()
        if (done === true) controller.close()
        else controller.enqueue(encoder.encode(lines(value)))
      },
    },
    { highWaterMark: 1 },
  )
  return csvResponse(name, body)
}
