import type { JsonObject } from '@/json/json.ts'
import type { JsonEdit } from '@/json/splice.ts'

/** Gives a body that names its model the upstream's name of it, wherever it does: one that names two is no other's to choose from. */
export function modelEdits(json: JsonObject, model: string): JsonEdit[] {
  return json['model'] === undefined ? [] : [{ path: ['model'], value: model }]
}
