/**
 * The same text as one run of characters. What is concatenated stays a tree of its pieces until it is read, and a tree
 * that is part of many others is walked in each: worth it for text that every event of a stream repeats. What is sliced
 * off holds the whole that it came from, and this does not.
 *
 * @param text well-formed
 */
export function onePiece(text: string): string {
  return Buffer.from(text).toString()
}
