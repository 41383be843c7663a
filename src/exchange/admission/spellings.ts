import { invalidRequest } from '@/formats/invalid.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * Refuses a name that is one of these but for its case. Servers that are written in Go read `Model` as `model`, and the
 * later of both: handed on to one, it would be another model than the one that the caller was admitted to. So they do with
 * letters that Unicode holds for the same (`ſ`).
 * @param names in lower case
 * @throws GatewayError `invalid_request`
 */
export function refuseOtherSpellings(object: JsonObject, names: ReadonlySet<string>): void {
  for (const name in object) {
    if (USUAL_NAME.test(name)) continue
    const usual = name.toUpperCase().toLowerCase()
    if (usual !== name && names.has(usual)) throw invalidRequest(name, `this name is spelled ${usual}`)
  }
}

const USUAL_NAME = /^[a-z0-9_]*$/
