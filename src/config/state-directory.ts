import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { SettingsError } from './settings.ts'

/**
 * A directory for state of one kind within DATA_DIR, made if it is missing: its path.
 * @throws SettingsError where this process cannot write there
 */
export function stateDirectory(dataDir: string, name: string): string {
  const path = join(dataDir, name)
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    accessSync(path, constants.W_OK)
    return path
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new SettingsError([
      `DATA_DIR is ${JSON.stringify(dataDir)} but must be a directory that this process can write: ${reason}`,
    ])
  }
}
