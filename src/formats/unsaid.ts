import type { JsonObject } from '@/json/json.ts'

/** The fields of an object beyond the known ones, under the name of the field that holds them. Nulls say nothing. */
export function unknownFields(
  object: JsonObject | undefined,
  known: ReadonlySet<string>,
  holder: string,
): string[] {
  return Object.entries(object ?? {}).flatMap(([name, value]) =>
    value === null || known.has(name) ? [] : [`${holder}.${name}`],
  )
}
