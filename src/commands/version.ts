import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asString, parseObject } from '@/json/json.ts'

/** Which Tollgate this is, as package.json, which ships with the program, says it. */
export function programVersion(): string {
  const text = readFileSync(join(import.meta.dir, '../../package.json'), 'utf8')
  return asString(parseObject(text)?.['version']) ?? 'unknown'
}
