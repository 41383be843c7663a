import type { GatewayError } from '@/errors/gateway-error.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { Usage } from '@/generation/usage.ts'

/** What an answer said that the gateway keeps: its usage, whether it began, whether and how it ended. */
export class Meter {
  /** The last usage the upstream reported; undefined while there is none. */
  usage: Usage | undefined
  /** True once the caller would see something of the answer: from here on no other channel may take over. */
  output = false
  /** True once the answer came to its end by the format's own mark. */
  finished = false
  /** The error the answer ended in; nothing follows it. */
  error: GatewayError | undefined
  /** True when the error is that the upstream closed before the end of the answer. */
  cut = false

  observe(event: GenerationEvent): void {
    switch (event.type) {
      case 'usage':
        this.usage = event.usage
        return
      case 'finish':
        this.finished = true
        this.output = true
        return
      case 'error':
        this.error = event.error
        return
      case 'start':
        return
      default:
        this.output = true
    }
  }
}
