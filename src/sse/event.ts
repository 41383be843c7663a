/** One server-sent event. */
export interface SseEvent {
  /** The `event:` field; undefined when there was none. */
  event: string | undefined
  /** The `data:` lines joined by newlines; empty when there was none. */
  data: string
}

/** An event as text on the wire, blank line included. `data` must hold no line break. */
export function formatEvent(event: string | undefined, data: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`
}
