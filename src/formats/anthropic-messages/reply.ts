import type { ReplyContext } from '@/formats/codec.ts'
import { unwrapSignature, wrapSignature } from '@/formats/signatures/signature.ts'
import type { Signature } from '@/generation/part.ts'
import { FORMAT, type MessageUsage } from './wire.ts'

/** The id of a reply. */
export function replyId(context: ReplyContext): string {
  return `msg_${context.requestId.replaceAll('-', '')}`
}

/** The tier as `usage` names it, where this API has a name for it; OpenAI's `default` is `standard`. */
export function replyTier(tier: string | undefined): MessageUsage['service_tier'] {
  if (tier === 'default') return 'standard'
  return tier === 'standard' || tier === 'priority' || tier === 'batch' ? tier : null
}

/** What a message says of things that no other vendor has. */
export const REPLY_NULLS = { container: null, diagnostics: null } as const

/** Whose call a tool call is, which the SDKs' types promise: the model's own, and no code's that it runs. */
export const DIRECT_CALLER = { caller: { type: 'direct' } } as const

/** That a text has no sources: the SDKs' types promise a list or null, and the AI SDK up to version 6 refuses null. */
export const NO_CITATIONS = { citations: [] }

/**
 * How thoughts are shown: not at all when the caller switched thinking off, `sealed` (empty, with their signature)
 * when it asked for `display: "omitted"`.
 */
export type ThoughtDisplay = 'shown' | 'sealed' | 'hidden'

/** How the request asked for its thoughts. */
export function thoughtDisplay(request: ReplyContext['request']): ThoughtDisplay {
  const { reasoning } = request
  if (reasoning === undefined) return 'shown'
  if (reasoning.effort === 'none') return 'hidden'
  return reasoning.summary === 'none' ? 'sealed' : 'shown'
}

/**
 * Clients give thinking back only with a signature, so a thought that came with none gets one that no vendor made:
 * on its return it is told apart and never reaches an upstream. The same goes for the keys of their sources and pages.
 */
const NOBODYS: Signature = { format: FORMAT, vendor: 'tollgate', value: '' }

/** Whether an opaque field that a caller sent back holds what no vendor made. */
export function isNobodys(value: string): boolean {
  return unwrapSignature(value, FORMAT).vendor === NOBODYS.vendor
}

/** A signature as callers of this format get it: wrapped, so that its maker is known when it comes back. */
export function replySignature(signature: Signature | undefined): string {
  return wrapSignature(signature ?? NOBODYS, FORMAT)
}
