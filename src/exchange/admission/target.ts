import type { Target } from '@/formats/codec.ts'
import type { Model, Route } from '@/routing/model.ts'

/** What codecs need to know of the upstream's model. */
export function targetOf(model: Model, { channel, upstreamModel }: Route): Target {
  const { vendor, reasoningField } = channel
  return { model: upstreamModel, vendor, maxOutputTokens: model.maxOutputTokens, reasoningField }
}
