import { nearestNumber } from '@/json/exact.ts'
import { asArray, asObject, asStrings, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { closedSchema } from './json-schema.ts'
import { canBeClosed } from './schema-limits.ts'

/** What Anthropic counts of all schemas together that it holds the model to. */
interface Size {
  tools: number
  /** Properties that may be missing. */
  optional: number
  /** Properties that are one of several things. */
  unions: number
}

/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits */
const MOST: Size = { tools: 20, optional: 24, unions: 16 }

/** The schemas of one request that the model is held to. One refused refuses the request, so each must fit beside the others. */
export class HeldSchemas {
  readonly #size: Size = { tools: 0, optional: 0, unions: 0 }

  /** The schema as the vendor takes it; undefined for one that the model cannot be held to. */
  answer(schema: JsonObject): JsonObject | undefined {
    return canBeClosed(schema) ? this.#held(schema, 0) : undefined
  }

  /** @param input the schema as a tool's input is said without this, an object at the top */
  tool(parameters: JsonObject, input: JsonObject): JsonObject | undefined {
    return canBeClosed(parameters) ? this.#held(input, 1) : undefined
  }

  #held(schema: JsonObject, tools: number): JsonObject | undefined {
    const closed = closedSchema(schema)
    const size = { ...this.#size, tools: this.#size.tools + tools }
    if (!measure(closed, size)) return undefined
    if (size.tools > MOST.tools || size.optional > MOST.optional || size.unions > MOST.unions)
      return undefined
    Object.assign(this.#size, size)
    return closed
  }
}

/** Counts a schema and those in it; false where one says nothing that the model could be held to, or more than can be true. */
function measure(schema: JsonValue | undefined, size: Size): boolean {
  if (!isJsonObject(schema) || !saysWhat(schema) || isImpossible(schema)) return false
  const { properties, required, $defs, definitions, items, anyOf } = schema
  const named = Object.entries(asObject(properties) ?? {})
  const needed = new Set(asStrings(required))
  size.optional += named.filter(([name]) => !needed.has(name)).length
  size.unions += named.filter(([, property]) => isUnion(property)).length
  const inner = [properties, $defs, definitions].flatMap(members => Object.values(asObject(members) ?? {}))
  return [...inner, ...asArray(anyOf), ...(items === undefined ? [] : [items])].every(part =>
    measure(part, size),
  )
}

/** One that fits anything is refused, and values to choose from must be some, and plain. */
function saysWhat({ type, $ref, enum: values, const: value, anyOf }: JsonObject): boolean {
  const lists = [values, anyOf].filter(list => list !== undefined)
  if (!lists.every(list => asArray(list).length > 0)) return false
  if (![...asArray(values), value].every(isPlain)) return false
  return [type, $ref, values, value, anyOf].some(said => said !== undefined)
}

function isPlain(value: JsonValue | undefined): boolean {
  return typeof value !== 'object' || value === null || nearestNumber(value) !== undefined
}

/** A closed object that requires what it does not have, or that must be another one besides. */
function isImpossible({ additionalProperties, properties, required, $ref, anyOf }: JsonObject): boolean {
  if (additionalProperties !== false) return false
  const named = asObject(properties) ?? {}
  if ($ref !== undefined || anyOf !== undefined) return true
  return asStrings(required).some(name => !Object.hasOwn(named, name))
}

function isUnion(property: JsonValue | undefined): boolean {
  const { type, anyOf } = asObject(property) ?? {}
  return anyOf !== undefined || Array.isArray(type)
}
