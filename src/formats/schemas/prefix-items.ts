import { asArray, type JsonObject } from '@/json/json.ts'

/** A list whose members differ says so in the words of JSON Schema 2020-12. */
export function withPrefixItems(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema
  if (!Array.isArray(items)) return schema
  const others = additionalItems === undefined ? {} : { items: additionalItems }
  return { ...rest, prefixItems: [...asArray(rest['prefixItems']), ...items], ...others }
}
