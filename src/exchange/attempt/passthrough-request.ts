import { editBody, outlineOf, type RequestBody, textsOf } from '@/exchange/admission/body.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import type { Passage, PassedBody } from '@/formats/codec.ts'
import { isOpenai } from '@/formats/openai/vendor.ts'
import { CODECS } from '@/formats/registry.ts'
import { carriesWrappedSignature } from '@/formats/signatures/signature.ts'
import type { Route } from '@/routing/model.ts'
import type { Channel } from '@/upstream/channel.ts'

/** Whether a route can be given the caller's own bytes, and the caller its answer's. */
export function isPassthrough(prompt: Prompt, { channel }: Route): boolean {
  const isAlike = prompt.isOf(channel.format) && !channel.functionToolsOnly && channel.thinkTags === undefined
  return (
    isAlike &&
    !wantsSummary(prompt, channel) &&
    !carriesWrappedSignature(prompt.body.bytes, prompt.body.outline) &&
    CODECS[prompt.format].passthrough.takes(outlineOf(prompt.body))
  )
}

/** Others that speak Responses know no item that asks for a compaction: they refuse it, or go on with the conversation. */
function wantsSummary({ purpose }: Prompt, { vendor }: Channel): boolean {
  return purpose === 'summary' || (purpose === 'compaction-item' && !isOpenai(vendor))
}

/** What is sent to an upstream. */
export interface SentRequest {
  /** Good until another request is made of the same prompt (`editBody`). */
  body: Uint8Array
  headers: Readonly<Record<string, string>>
}

/** The caller's own bytes, with nothing changed but what the gateway owns (`PassthroughCodec`). */
export function passOn(prompt: Prompt, passage: Pick<Passage, 'target' | 'purpose' | 'lose'>): SentRequest {
  const { body, format, stream, outputLimit, withoutReasoning } = prompt
  const edits = CODECS[format].passthrough.edits(passedBody(body), {
    ...passage,
    stream,
    outputLimit,
    withoutReasoning,
  })
  return { body: editBody(body, edits), headers: passedHeaders(prompt) }
}

/** A body as what hands it on looks at it. */
export function passedBody(body: RequestBody): PassedBody {
  return { bytes: body.bytes, json: outlineOf(body), texts: textsOf(body) }
}

/** The caller's headers that an upstream of its own format may see. */
export function passedHeaders({ format, headers: asked }: Prompt): Readonly<Record<string, string>> {
  const { headers: names, usualHeaders } = CODECS[format].passthrough
  let headers = usualHeaders
  for (const name of names) {
    const value = asked.get(name)
    if (value !== null && value !== usualHeaders[name]) headers = { ...headers, [name]: value }
  }
  return headers
}
