import type { StoredStatus } from '@/db/schema.ts'

/** Whose response: ids of other accounts do not exist. */
export interface ResponseKey {
  accountId: number
  id: string
}

/** A response to be kept. */
export interface NewResponse extends ResponseKey {
  /** The response that this one goes on from. */
  previousId: string | undefined
  status: StoredStatus
  background: boolean
  /** As the caller named it. */
  model: string
  /** The items of this turn's own input, JSON texts as the caller spelled them. */
  input: readonly string[]
  /** The response object, JSON. */
  response: string
  /** What its stream said; empty if it was not streamed, or said too much to be kept. */
  events: readonly StoredEvent[]
  /** Milliseconds since 1970. */
  createdAt: number
}

/** One event of a response's stream. */
export interface StoredEvent {
  /** Its `sequence_number`. */
  number: number
  /** Its data, JSON. */
  data: string
}

/** A response as whoever asks for it gets it. */
export interface StoredResponse {
  id: string
  status: StoredStatus
  background: boolean
  /** The response object, JSON; of one that runs as it was when it began. */
  response: string
}

/** What is known of a response before any of its content is read. */
export interface ResponseHead {
  status: StoredStatus
  background: boolean
  /** Length of the response object as plain text. */
  responseBytes: number
  /** Length of its own turn's input as plain text. */
  inputBytes: number
}

/** One turn of a conversation. */
export interface StoredTurn {
  input: readonly string[]
  response: string
}

/** Whether a response may still change. */
export function isRunning(status: StoredStatus): boolean {
  return status === 'queued' || status === 'in_progress'
}
