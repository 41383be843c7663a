import { parseObject } from '@/json/json.ts'
import { sliceItems } from '@/json/slice.ts'

/** The output of a response as input of the next turn. */
export function outputItems(response: string): string[] {
  return (sliceItems(Buffer.from(response), 'output') ?? []).filter(isReadable)
}

/** Reasoning of which only a summary is there cannot be read again by anybody, and its own vendor refuses it. */
export function isReadable(item: string): boolean {
  if (!item.includes('"reasoning"')) return true
  const json = parseObject(item)
  if (json?.['type'] !== 'reasoning') return true
  const encrypted = json['encrypted_content']
  const { content } = json
  return (typeof encrypted === 'string' && encrypted !== '') || (Array.isArray(content) && content.length > 0)
}
