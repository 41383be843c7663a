import { asObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** What a local reference (`#/$defs/Node`) points to; undefined when it leads nowhere or outside. */
export function resolveRef(root: JsonObject, ref: string): JsonObject | undefined {
  if (!ref.startsWith('#')) return undefined
  let here: JsonValue | undefined = root
  for (const raw of ref.slice(1).split('/').filter(Boolean)) {
    here = step(here, unescapePointer(raw))
  }
  return asObject(here)
}

/** More references one after the other than any schema has that is meant. */
const MAX_REFERENCES = 32

/**
 * A schema whose root refers to one of its definitions, as those of named and of recursive types do, with that in its
 * place: it is an object then where vendors look for one. One that leads nowhere, or on and on, stays for the vendor to
 * refuse: without it the schema would be one that anything fits.
 */
export function withRootInPlace(schema: JsonObject): JsonObject {
  let root = schema
  const followed = new Set<string>()
  while (typeof root['$ref'] === 'string') {
    const { $ref: ref, ...others } = root
    const target = followed.has(ref) ? {} : resolveRef(schema, ref)
    if (target === undefined || followed.size === MAX_REFERENCES) return root
    root = { ...target, ...others }
    followed.add(ref)
  }
  return root
}

function step(here: JsonValue | undefined, key: string): JsonValue | undefined {
  if (Array.isArray(here)) return here[Number(key)]
  const object = asObject(here)
  // What every object inherits is no part of the schema.
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined
}

function unescapePointer(segment: string): string {
  const plain = segment.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
