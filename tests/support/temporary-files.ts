import { readdirSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** How many temporary files this process has open. Of what else it has open, other tests' connections come and go. */
export function temporaryFiles(): number {
  return readdirSync('/proc/self/fd').filter(handle => targetOf(handle).startsWith(tmpdir())).length
}

function targetOf(handle: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${handle}`)
  } catch {
    // It was closed meanwhile.
    return ''
  }
}
