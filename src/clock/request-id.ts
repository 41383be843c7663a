/**
 * A new request id: a UUIDv7 of the time that the machine's clock says. Without that time Bun's never go back: after the clock
 * was set back they would all be of the moment before, and it is by their ids that requests are counted and found by time.
 */
export function newRequestId(): string {
  return Bun.randomUUIDv7('hex', Date.now())
}
