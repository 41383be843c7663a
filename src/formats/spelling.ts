import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** The name that a body uses, where a field has several: the first that it holds, in its lists as well. */
export function spelledIn(body: JsonObject, names: string | readonly [string, ...string[]]): string {
  if (typeof names === 'string') return names
  return names.find(name => holds(body, name.split('.'))) ?? names[0]
}

function holds(value: JsonValue | undefined, path: readonly string[]): boolean {
  const [key, ...rest] = path
  if (key === undefined) return value !== undefined
  if (Array.isArray(value)) return value.some(item => holds(item, path))
  return isJsonObject(value) && holds(value[key] ?? value[snakeCase(key)], rest)
}

/** Gemini takes its fields in either case. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
