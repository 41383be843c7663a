import { hasMark } from '@/json/mark.ts'
import { eachEvent } from './splitter.ts'

const COLON = 0x3a

const COMMENTS = [Buffer.from('\n:'), Buffer.from('\r:')]

/** Whether there is a comment in front of, between or within these whole events. */
export function hasComment(events: Uint8Array): boolean {
  return events[0] === COLON || hasMark(events, COMMENTS)
}

const COMMENT_LINE = /^:.*(?:\r\n|\n|\r|$)/gm

/** Whole events without their comments. */
export function withoutComments(events: Buffer): Buffer {
  const kept: Buffer[] = []
  eachEvent(events, event => {
    // One UTF-16 unit for each byte, so that what is no UTF-8 stays as it is.
    const text = hasComment(event) ? event.toString('latin1').replace(COMMENT_LINE, '') : undefined
    if (text === undefined) kept.push(event)
    else if (text.trim() !== '') kept.push(Buffer.from(text, 'latin1'))
  })
  return Buffer.concat(kept)
}
