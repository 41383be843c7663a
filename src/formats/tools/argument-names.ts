import { objectSchema } from '@/formats/schemas/object-schema.ts'
import { parseExactObject } from '@/json/exact.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'

/** A function's parameters with names that a target takes, and the names that they have for the caller. */
interface FittedParameters {
  parameters: JsonObject
  names: ArgumentNames
}

/**
 * Parameters whose names do not all fit; undefined where they do. Nobody looks at names deeper inside. Those to which
 * something inside refers stay for the vendor to refuse: by other names they would be others there as well.
 */
export function fitParameters(given: JsonObject, pattern: RegExp): FittedParameters | undefined {
  const parameters = objectSchema(given)
  const properties = Object.entries(asObject(parameters['properties']) ?? {})
  const fitted = fittedNames(
    properties.map(([name]) => name),
    pattern,
  )
  if (fitted.size === 0 || REFERS_TO_ARGUMENTS.test(JSON.stringify(parameters))) return undefined
  const { required } = parameters
  return {
    parameters: {
      ...parameters,
      properties: renamed(properties, fitted),
      ...(required !== undefined && {
        required: asArray(required).map(name => (typeof name === 'string' && fitted.get(name)) || name),
      }),
    },
    names: new ArgumentNames(fitted),
  }
}

const REFERS_TO_ARGUMENTS = /"\$ref":"#(?:"|\/properties\/)/

/** What a target calls the arguments of one function whose own names it does not take. */
export class ArgumentNames {
  readonly #fitted: ReadonlyMap<string, string>
  readonly #own: ReadonlyMap<string, string>

  constructor(fitted: ReadonlyMap<string, string>) {
    this.#fitted = fitted
    this.#own = new Map([...fitted].map(([own, name]) => [name, own]))
  }

  /** A call's input with the target's names; text that is no object stays as it is. */
  fit(input: string): string {
    return renamedInput(input, this.#fitted)
  }

  /** The same with the caller's. */
  restore(input: string): string {
    return renamedInput(input, this.#own)
  }
}

function renamedInput(input: string, names: ReadonlyMap<string, string>): string {
  const given = Object.entries(parseExactObject(input) ?? {})
  return given.some(([name]) => names.has(name)) ? JSON.stringify(renamed(given, names)) : input
}

function renamed(entries: readonly [string, JsonObject[string]][], names: ReadonlyMap<string, string>) {
  return Object.fromEntries(entries.map(([name, value]) => [names.get(name) ?? name, value]))
}

const MAX_LENGTH = 64
const HASH_LENGTH = 8

/** A name for each that does not fit: what can be read of it, and a hash where that is another's or not all. */
function fittedNames(names: readonly string[], pattern: RegExp): ReadonlyMap<string, string> {
  const taken = new Set(names.filter(name => pattern.test(name)))
  const fitted = new Map<string, string>()
  for (const name of names) {
    if (taken.has(name)) continue
    const readable = name.replaceAll(/[^a-zA-Z0-9_.-]/g, '_')
    const hash = new Bun.CryptoHasher('sha256').update(name).digest('hex').slice(0, HASH_LENGTH)
    const isFree = pattern.test(readable) && !taken.has(readable)
    const fit = isFree ? readable : `${readable.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`
    fitted.set(name, fit)
    taken.add(fit)
  }
  return fitted
}
