import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** What a local reference (`#/$defs/Node`) points to; an empty schema when it leads nowhere or outside. */
export function resolveRef(root: JsonObject, ref: string): JsonObject {
  if (!ref.startsWith('#')) return {}
  let here: JsonValue | undefined = root
  for (const raw of ref.slice(1).split('/').filter(Boolean)) {
    here = step(here, unescapePointer(raw))
  }
  return asObject(here) ?? {}
}

/**
 * A schema whose root refers to one of its definitions, as those of named and of recursive types do, with that in its
 * place: it is an object then where vendors look for one.
 */
export function withRootInPlace(schema: JsonObject): JsonObject {
  let root = schema
  const followed = new Set<string>()
  while (typeof root['$ref'] === 'string') {
    const { $ref: ref, ...others } = root
    root = followed.has(ref) ? others : { ...resolveRef(schema, ref), ...others }
    followed.add(ref)
  }
  return root
}

function step(here: JsonValue | undefined, key: string): JsonValue | undefined {
  if (Array.isArray(here)) return here[Number(key)]
  return asObject(here)?.[key]
}

function unescapePointer(segment: string): string {
  const plain = segment.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
