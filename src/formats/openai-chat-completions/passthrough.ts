import type { Passage, PassedBody, PassthroughCodec } from '@/formats/codec.ts'
import { modelEdits } from '@/formats/model-edit.ts'
import { asArray, asNumber, asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import type { JsonEdit } from '@/json/splice.ts'
import { modelTraits } from './models.ts'
import { type VendorTraits, vendorTraits } from './vendors.ts'

/** See PassthroughCodec. */
export const passthrough: PassthroughCodec = {
  edits,
  // What some vendors add to it goes back to whoever serves the model.
  signatures: () => [],
  headers: ['openai-beta'],
  usualHeaders: Object.freeze({}),
  listening: body => ({
    hidesUsage: !asksForUsage(body),
    readsAll: (asNumber(body['n']) ?? 1) > 1,
    hidesComments: false,
  }),
}

function edits({ json, texts }: PassedBody, { target, stream, outputLimit }: Passage): JsonEdit[] {
  const vendor = vendorTraits(target.vendor)
  const found = modelEdits(json, target.model)
  // Usage is wanted of every stream; who does not know the field sends it unasked.
  if (!vendor.takesStreamOptions) {
    if (json['stream_options'] !== undefined) found.push({ path: ['stream_options'], remove: true })
  } else if (stream && !asksForUsage(json)) {
    found.push({ path: ['stream_options', 'include_usage'], value: true })
  }
  if (outputLimit !== undefined) {
    const { isNewer } = modelTraits(target.model)
    // OpenAI has left the second behind, and others do not know the first.
    const name = isNewer || vendor.isOpenai ? 'max_completion_tokens' : 'max_tokens'
    found.push({ path: [name], value: outputLimit })
  }
  return vendor.checksCallIds ? [...found, ...callIdEdits(json, texts, vendor)] : found
}

/** Whether the caller wants the usage chunk itself; the gateway asks the upstream for it always. */
function asksForUsage(json: JsonObject): boolean {
  return asObject(json['stream_options'])?.['include_usage'] === true
}

/** Another upstream may have named the calls of earlier turns in a way that this one refuses. */
function callIdEdits(json: JsonObject, texts: Texts, vendor: VendorTraits): JsonEdit[] {
  const found: JsonEdit[] = []
  const fit = (id: JsonValue | undefined, path: JsonEdit['path']) => {
    if (typeof id !== 'string') return
    const whole = texts.whole(id)
    const fitted = vendor.fitCallId(whole)
    if (fitted !== whole) found.push({ path, value: fitted })
  }
  for (const [place, value] of asArray(json['messages']).entries()) {
    const message = asObject(value)
    fit(message?.['tool_call_id'], ['messages', place, 'tool_call_id'])
    for (const [index, call] of asArray(message?.['tool_calls']).entries()) {
      fit(asObject(call)?.['id'], ['messages', place, 'tool_calls', index, 'id'])
    }
  }
  return found
}
