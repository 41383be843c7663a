import { sliceItems } from '@/json/slice.ts'

/** The output of a response as input of the next turn. Of thoughts each upstream is told as many as it takes back. */
export function outputItems(response: string): string[] {
  return sliceItems(Buffer.from(response), 'output') ?? []
}
