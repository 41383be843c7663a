/** Says whether something holds, and returns that. */
export function told(line: string, holds: boolean): boolean {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${line}`)
  return holds
}
