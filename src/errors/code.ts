/** The code of an error, of the system, the runtime or a library (`ENOENT`, `SQLITE_BUSY`); empty: it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
