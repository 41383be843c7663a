import { eachEvent } from './splitter.ts'

const LF = 0x0a
const CR = 0x0d
/** The first letter of `data`. */
const D = 0x64

/** Whether these whole events may have other lines than data: comments, names, ids. */
export function hasOtherLines(events: Uint8Array): boolean {
  return beginsOther(events[0]) || isFollowedByOther(events, LF) || isFollowedByOther(events, CR)
}

function isFollowedByOther(events: Uint8Array, lineEnd: number): boolean {
  for (let at = events.indexOf(lineEnd); at >= 0; at = events.indexOf(lineEnd, at + 1)) {
    if (beginsOther(events[at + 1])) return true
  }
  return false
}

function beginsOther(byte: number | undefined): boolean {
  return byte !== undefined && byte !== D && byte !== LF && byte !== CR
}

/** A line that is no data, behind a BOM neither, as text of one UTF-16 unit for each byte. */
const OTHER_LINE = /^(?!(?:\xef\xbb\xbf)?data:)[^\r\n]+(?:\r\n|\n|\r|$)/gm

/** The data of whole events, without their other lines, and without the events that have no data. */
export function onlyDataLines(events: Buffer): Buffer {
  const kept: Buffer[] = []
  eachEvent(events, event => {
    // In latin1 what is no UTF-8 stays as it is.
    const text = hasOtherLines(event) ? event.toString('latin1').replace(OTHER_LINE, '') : undefined
    if (text === undefined) kept.push(event)
    else if (text.trim() !== '') kept.push(Buffer.from(text, 'latin1'))
  })
  return Buffer.concat(kept)
}
