import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORMATS, type Format } from '@/generation/format.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'

const ROOT = import.meta.dir

/** What a vendor really sent, or was sent, for one case. */
export interface Recording {
  format: Format
  /** The case, as its folder is called. */
  name: string
  folder: string
  request: JsonObject
  /** The same answer in one piece; undefined where the recorded answer is a stream that failed. */
  response: JsonObject | undefined
  stream: Buffer
}

/** Every recording, or those of one format. */
export function recordings(format?: Format): Recording[] {
  const formats = format === undefined ? FORMATS : [format]
  return formats.flatMap(each => casesOf(each).map(name => recording(each, name)))
}

function casesOf(format: Format): string[] {
  return readdirSync(join(ROOT, format)).sort()
}

/** One recording by its name. */
export function recording(format: Format, name: string): Recording {
  const folder = join(ROOT, format, name)
  const response = join(folder, 'response.json')
  return {
    format,
    name,
    folder,
    request: readObject(join(folder, 'request.json')),
    response: existsSync(response) ? readObject(response) : undefined,
    stream: readFileSync(join(folder, 'stream.sse')),
  }
}

function readObject(path: string): JsonObject {
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (!isJsonObject(value)) throw new Error(`${path} holds no object`)
  return value
}
