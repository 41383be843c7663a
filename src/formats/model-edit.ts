import type { JsonObject } from '@/json/json.ts'
import type { JsonEdit } from '@/json/splice.ts'

/** Gives a body that names its model the upstream's name of it, in every place: of two names an upstream might take either. */
export function modelEdits(json: JsonObject, model: string): JsonEdit[] {
  return json['model'] === undefined ? [] : [{ path: ['model'], value: model }]
}
