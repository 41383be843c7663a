import type { OutputFormat } from '@/generation/request.ts'

/**
 * What an answer is called where it is asked for in words. A schema may have another root than an object, and one that
 * does not say which may have any.
 */
export function jsonInWords(output: Exclude<OutputFormat, { type: 'text' }>): string {
  if (output.type === 'json') return 'JSON object'
  const { type, properties } = output.schema
  if (type === 'object' || (type === undefined && properties !== undefined)) return 'JSON object'
  return type === 'array' ? 'JSON array' : 'JSON value'
}
