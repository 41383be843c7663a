import type { Losses } from '@/formats/losses.ts'
import {
  type CacheMark,
  type MediaPart,
  type Part,
  type TextPart,
  type ToolResultPart,
  textPart,
} from '@/generation/part.ts'

/** A result with the text of its documents among its own, for formats whose results hold text and little else. */
export function withDocumentTexts(result: ToolResultPart, losses: Losses): ToolResultPart {
  const content = result.content.map(part => {
    if (part.type !== 'media' || part.source.type !== 'text') return part
    if (part.citable) losses.add('citations')
    const said = [part.title ?? part.filename, part.context, part.source.text]
    return { ...textPart(said.filter(text => text !== undefined).join('\n\n')), cache: part.cache }
  })
  return { ...result, content }
}

/**
 * A result that answers no call of the conversation, as the user's words: still worth reading.
 * @param source whose result it is
 */
export function resultInWords(
  source: string,
  { content, isError, cache }: Pick<ToolResultPart, 'content' | 'isError' | 'cache'>,
): readonly (TextPart | MediaPart)[] {
  const label = `Result of ${source}${isError ? ', which failed' : ''}:`
  return withMark([textPart(label), ...content], cache)
}

/** The mark of a whole on the last of its parts that can have one, where marks have their place. */
export function withMark<T extends Part>(parts: readonly T[], cache: CacheMark | undefined): readonly T[] {
  if (cache === undefined) return parts
  const said = parts.findLastIndex(canBeMarked)
  const at = said >= 0 ? said : parts.findLastIndex(part => 'cache' in part)
  const last = parts[at]
  if (last === undefined || !('cache' in last) || last.cache !== undefined) return parts
  return parts.with(at, { ...last, cache })
}

/** A text of nothing is left out of a prompt, and its mark would be, too. */
export function canBeMarked(part: Part): boolean {
  return part.type === 'text' ? part.text.trim() !== '' : 'cache' in part
}

/** A result's content for formats without a sign of failure: its words say it, unless they do already. */
export function tellFailure<T extends TextPart | MediaPart>(
  content: readonly T[],
): readonly (T | TextPart)[] {
  const [first, ...rest] = content
  const said = content.map(part => (part.type === 'text' ? part.text : '')).join('\n')
  if (/\b(?:error|failed|failure|exception)\b/i.test(said)) return content
  return first?.type === 'text'
    ? [{ ...first, text: `Error: ${first.text}` }, ...rest]
    : [textPart('Error:'), ...content]
}
