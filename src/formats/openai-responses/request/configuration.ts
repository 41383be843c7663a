import { asArray, asObject, type JsonObject } from '@/json/json.ts'

/** What a request says of its answer. */
interface Configuration {
  reasoning: JsonObject | undefined
  text: JsonObject | undefined
}

/**
 * The effort and the form of the answer that are in force at the end of the input: each holds until a
 * `configuration_update` sets another. Codex writes them.
 * https://developers.openai.com/api/docs/guides/reasoning#change-reasoning-mid-conversation
 */
export function configurationOf(body: JsonObject): Configuration {
  let reasoning = asObject(body['reasoning'])
  let text = asObject(body['text'])
  for (const item of asArray(body['input']).map(asObject)) {
    if (item?.['type'] !== 'configuration_update') continue
    const effort = asObject(item['reasoning'])?.['effort'] ?? undefined
    const format = asObject(item['text'])?.['format'] ?? undefined
    if (effort !== undefined) reasoning = { ...reasoning, effort }
    if (format !== undefined) text = { ...text, format }
  }
  return { reasoning, text }
}
