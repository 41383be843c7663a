import { readFileSync } from 'node:fs'
import { asArray, asObject, asString, type JsonObject, type JsonValue, parseObject } from '@/json/json.ts'

/** What a client really sent, without ids and paths of the machine it ran on, its long texts cut short. */
export interface ClientCase {
  /** Name and version. */
  client: string
  path: string
  headers: Record<string, string>
  body: JsonObject
}

export function readCase(name: string): ClientCase {
  const json = parseObject(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8'))
  const body = asObject(json?.['body'])
  const path = asString(json?.['path'])
  if (json === undefined || body === undefined || path === undefined) throw new Error(`${name} is no case`)
  const headers = Object.entries(asObject(json['headers']) ?? {}).map(([key, value]) => [key, String(value)])
  return { client: String(json['client']), path, headers: Object.fromEntries(headers), body }
}

/** The ids that a client sent in headers and in fields that are about itself. */
export function privateIds(given: ClientCase): string[] {
  const own = JSON.stringify([given.headers, given.body['client_metadata'], given.body['metadata']])
  return [...new Set(own.match(/[0-9a-f]{8}-[0-9a-f]{4}-4000-8000-[0-9a-f]{12}|\b0{64}\b/g))]
}

/** The same case asking for another model. */
export function askingFor(given: ClientCase, model: string): ClientCase {
  const path = given.path.replace(/models\/[^:]+:/, `models/${encodeURIComponent(model)}:`)
  return path === given.path
    ? { ...given, body: { ...given.body, model } }
    : { ...given, path, body: given.body }
}

/** The same case with one of its tools in front: the simulator calls the first. */
export function withFirstTool(given: ClientCase, name: string): ClientCase {
  const tools = asArray(given.body['tools'])
  const isIt = (tool: JsonValue) => asObject(tool)?.['name'] === name
  return { ...given, body: { ...given.body, tools: [...tools.filter(isIt), ...tools.filter(t => !isIt(t))] } }
}

/** The data of a stream's events, each a JSON object. */
export function eventsOf(text: string): JsonObject[] {
  return text.split('\n').flatMap(line => {
    const data = line.startsWith('data: ') ? parseObject(line.slice(6)) : undefined
    return data === undefined ? [] : [data]
  })
}

/** The names of the functions that a request offers, in any format; grouped and custom tools of Responses included. */
export function functionNames(body: JsonObject): string[] {
  const brought = asArray(body['input']).flatMap(item => asArray(asObject(item)?.['tools']))
  return [...asArray(body['tools']), ...brought].flatMap(tool => namesIn(asObject(tool) ?? {}))
}

function namesIn(tool: JsonObject): string[] {
  const { type } = tool
  if (type === 'namespace') {
    return asArray(tool['tools']).flatMap(member =>
      namesIn(asObject(member) ?? {}).map(name => `${String(tool['name'])}__${name}`),
    )
  }
  const declared = asArray(tool['functionDeclarations']).map(each => String(asObject(each)?.['name']))
  if (declared.length > 0) return declared
  if (type === 'tool_search') return ['tool_search']
  if (asString(type)?.startsWith('web_search') === true) return []
  const name = asString(tool['name']) ?? asString(asObject(tool['function'])?.['name'])
  return name === undefined ? [] : [name]
}
