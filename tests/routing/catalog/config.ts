import type { ConfigFile } from '@/config/entries.ts'
import { parseConfigFile } from '@/config/file.ts'

/** A file as `apply` reads it. Channels that it does not declare are taken to be in the database. */
export function configFile(text: string, known: readonly string[] = []): ConfigFile {
  return parseConfigFile(text, {
    name: 'tollgate.yaml',
    env: { KEY_ONE: 'sk-one', KEY_TWO: 'sk-two' },
    known: { channels: new Set(known) },
  })
}
