import { changedSchema } from '@/formats/schemas/changed-schema.ts'
import { withPrefixItems } from '@/formats/schemas/prefix-items.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * A schema as JSON Schema 2020-12 has it, by which every tool is refused whose schema says something as older drafts did.
 * https://github.com/hyperdxio/hyperdx/pull/2925, https://github.com/Dokploy/mcp/issues/74
 */
export function newerSchema(schema: JsonObject): JsonObject {
  return changedSchema(schema, newer)
}

function newer(schema: JsonObject): JsonObject {
  const tuple = withPrefixItems(schema)
  return withLimit(withLimit(tuple, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum')
}

/** Draft 4 says of a limit whether it is one that is not reached. */
function withLimit(schema: JsonObject, limit: string, exclusive: string): JsonObject {
  const { [limit]: value, [exclusive]: isExclusive, ...rest } = schema
  if (typeof isExclusive !== 'boolean') return schema
  if (value === undefined) return rest
  return { ...rest, [isExclusive ? exclusive : limit]: value }
}
