import type { Target } from '@/formats/codec.ts'
import type { Model, Route } from '@/routing/model.ts'

/** What codecs need to know of the upstream's model. */
export function targetOf(model: Model, { channel, upstreamModel }: Route): Target {
  return { model: upstreamModel, vendor: channel.vendor, maxOutputTokens: model.maxOutputTokens }
}
