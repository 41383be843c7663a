import { ENCRYPTED } from '@/formats/openai-responses/wire.ts'
import { asArray, asObject, parseObject } from '@/json/json.ts'
import { sliceItems } from '@/json/slice.ts'
import { type JsonEdit, spliceText } from '@/json/splice.ts'
import type { StoredResponse } from '@/stored-responses/stored-response.ts'

/** A stored response as its caller sees it: its state of now, and of its items what was asked to be included. */
export function shownResponse({ response, status }: StoredResponse, include: readonly string[]): string {
  const edits: JsonEdit[] = [{ path: ['status'], value: status }]
  const items = include.includes(ENCRYPTED) ? undefined : withoutEncrypted(response)
  if (items !== undefined) edits.push({ path: ['output'], text: `[${items.join(',')}]` })
  return spliceText(response, edits)
}

/** The output's items; undefined if nothing in them is to be hidden. */
function withoutEncrypted(response: string): string[] | undefined {
  if (!response.includes('"encrypted_content"')) return undefined
  const output = asArray(parseObject(response)?.['output'])
  return sliceItems(Buffer.from(response), 'output')?.map((item, index) =>
    asObject(output[index])?.['type'] === 'reasoning'
      ? spliceText(item, [{ path: ['encrypted_content'], remove: true }])
      : item,
  )
}
