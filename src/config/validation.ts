import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import { expectedWords, type FileContent, fileSchema } from './schema.ts'
import { childPath, type Issue, type YamlFile } from './yaml.ts'

/** Where a value of a file stands, and how it is written there, for those who find something wrong in it. */
export type Locate = (pointer: string) => { line: number; path: string; written: string | undefined }

/** The file's content if it fits the schema, else every way in which it does not. */
export function validate(
  file: YamlFile,
  locate: Locate,
): { content: FileContent | undefined; issues: Issue[] } {
  const value: unknown = file.value
  if (Value.Check(fileSchema, value)) return { content: value, issues: [] }
  const issues = new Map<string, Issue>()
  for (const error of Value.Errors(fileSchema, value)) {
    const issue = issueOf(error, locate)
    if (!issues.has(issue.path)) issues.set(issue.path, issue)
  }
  return { content: undefined, issues: [...issues.values()] }
}

/** The place of a value, or of the nearest one around it when it is missing. */
export function locator({ places }: YamlFile): Locate {
  const locate: Locate = pointer => {
    const place = places.get(pointer)
    if (place !== undefined) return place
    const cut = pointer.lastIndexOf('/')
    if (cut < 0) return { line: 1, path: '', written: undefined }
    const around = locate(pointer.slice(0, cut))
    const key = pointer.slice(cut + 1)
    const path = childPath(around.path, /^\d+$/.test(key) ? Number(key) : key)
    return { line: around.line, path, written: undefined }
  }
  return locate
}

function issueOf(error: ValueError, locate: Locate): Issue {
  const { line, path, written } = locate(error.path)
  if (error.type === ValueErrorType.ObjectRequiredProperty) return { line, path, message: 'is missing' }
  if (error.type === ValueErrorType.ObjectAdditionalProperties) return unknownKey(error, locate)
  const expected = `must be ${expectedWords(error.schema)}`
  return { line, path, message: `${expected}${shown(error.value, path, written)}${adviceOn(error)}` }
}

/** A key beside secrets may be a part of one: between braces `password: one,two` ends at the comma. */
function unknownKey({ path: pointer, schema }: ValueError, locate: Locate): Issue {
  const { line, path } = locate(pointer)
  const around = locate(pointer.slice(0, pointer.lastIndexOf('/'))).path
  const known = Object.keys(schema['properties'] ?? {})
  if (known.length === 0) return { line, path: around, message: 'has a key that is no header name' }
  const list = `known are ${known.join(', ')}`
  if (!HOLDS_SECRETS.test(around)) return { line, path, message: `is not known here; ${list}` }
  return { line, path: around, message: `has a key that is not known here; ${list}` }
}

const HOLDS_SECRETS = /\.(api_keys|headers|base_url|smtp|stripe)\b/

/** Quotes are not to be seen in what is shown. */
function adviceOn({ schema, value }: ValueError): string {
  if (schema['type'] === 'string')
    return ['number', 'boolean'].includes(typeof value) ? ': it needs quotes' : ''
  const isQuoted =
    (schema['type'] === 'integer' && /^\d+$/.test(String(value))) ||
    (schema['type'] === 'boolean' && /^(?:true|false)$/.test(String(value)))
  return typeof value === 'string' && isQuoted ? ': without quotes' : ''
}

/** The wrong value as the file has it, where that cannot be a secret. */
function shown(value: unknown, path: string, written: string | undefined): string {
  if (HOLDS_SECRETS.test(path)) return ''
  if (value === null) return ', but is empty'
  if (Array.isArray(value)) return value.length === 0 ? ', but is an empty list' : ', but is a list'
  if (typeof value === 'object') {
    return Object.keys(value).length === 0 ? ', but is an empty mapping' : ', but is a mapping'
  }
  return written === undefined || written.length > 60 ? '' : `, but is ${JSON.stringify(written)}`
}
