import { applyPatches, type Patch } from './splice.ts'

/** A document with edits. */
export interface Edited {
  /** The document's own where nothing was to be changed. */
  bytes: Uint8Array
  /** Takes the edits back, where they were made in the memory of the document; `bytes` are of no use from then on. */
  undo: (() => void) | undefined
}

/** The most bytes that are moved to make room within a document; beyond it a copy with the edits is made. */
const MOST_MOVED = 16 * 1024

/**
 * Applies patches in the memory of the document itself: those before a middle that stays where it is by moving what is
 * before it towards it, and those behind it likewise. Undefined where it cannot be done so, as for a document that grows.
 */
export function patchInPlace(
  bytes: Buffer,
  patches: readonly Patch[],
  middle: { start: number; end: number },
): Edited | undefined {
  const isBefore = patches.every(({ end }) => end <= middle.start)
  if (!isBefore && patches.some(({ start }) => start < middle.end)) return undefined
  const from = isBefore ? 0 : (patches[0]?.start ?? 0)
  const region = bytes.subarray(from, isBefore ? patches.at(-1)?.end : bytes.length)
  if (region.length > MOST_MOVED) return undefined
  const before = Buffer.from(region)
  const after = applyPatches(before, moved(patches, -from))
  const spare = region.length - after.length
  if (spare < 0) return undefined
  after.copy(region, isBefore ? spare : 0)
  return {
    bytes: isBefore ? bytes.subarray(spare) : bytes.subarray(0, bytes.length - spare),
    undo: () => before.copy(region),
  }
}

function moved(patches: readonly Patch[], by: number): Patch[] {
  return patches.map(({ start, end, text }) => ({ start: start + by, end: end + by, text }))
}
