import type { JsonObject } from '@/json/json.ts'

/** What a request says beside what is known. Null says nothing, and `auto` leaves it to whoever answers. */
export function unknownFields(request: JsonObject, known: ReadonlySet<string>): string[] {
  return Object.keys(request).filter(
    name => !known.has(name) && request[name] !== null && request[name] !== 'auto',
  )
}
