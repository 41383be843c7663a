import { fitCallId } from '@/formats/tools/call-id.ts'
import type { RequestField } from '@/generation/loss.ts'

/** What a vendor of this format, told by `Target.vendor`, does in its own way. */
export interface VendorTraits {
  /** OpenAI itself, or Azure: the only ones that keep what they thought to themselves. */
  isOpenai: boolean
  /** OpenRouter's additions: cache_control on parts, images of the assistant, file addresses. */
  isOpenrouter: boolean
  /** Tool calls of the history must come with reasoning_content, if only an empty one. */
  needsReasoning: boolean
  /** Fields that it answers with a 400. */
  refuses: ReadonlySet<RequestField>
  /** It knows `stream_options`; the others send usage unasked. */
  takesStreamOptions: boolean
  /** It is known to refuse ids of tool calls that are not like its own. */
  checksCallIds: boolean
  /** A tool call's id as the vendor takes it. */
  fitCallId: (id: string) => string
}

/** The vendors that refuse what they do not know instead of passing over it. */
const STRICT: readonly (readonly [RegExp, readonly RequestField[]])[] = [
  [
    /(?:^|\.)groq\.com$/,
    ['logprobs', 'logitBias', 'metadata', 'store', 'promptCacheKey', 'verbosity', 'topK'],
  ],
  [
    /(?:^|\.)mistral\.ai$/,
    [
      ...(['logprobs', 'logitBias', 'metadata', 'store', 'promptCacheKey', 'verbosity', 'topK'] as const),
      ...(['seed', 'user', 'serviceTier', 'reasoning'] as const),
    ],
  ],
]

/** The traits of a vendor: a short name, or a host with or without its port. */
export function vendorTraits(vendor: string): VendorTraits {
  const host = vendor.toLowerCase().replace(/:\d+$/, '')
  const isOpenai =
    /^(?:openai|azure)$|(?:^|\.)(?:api\.openai\.com|openai\.azure\.com|(?:services\.ai|cognitiveservices)\.azure\.com)$/.test(
      host,
    )
  const isMistral = /(?:^|\.)mistral\.ai$/.test(host)
  const strict = STRICT.find(([pattern]) => pattern.test(host))
  return {
    isOpenai,
    isOpenrouter: /(?:^|\.)openrouter(?:\.ai)?$/.test(host),
    needsReasoning: /(?:^|\.)(?:moonshot|deepseek)\.(?:ai|cn|com)$|^(?:moonshot|deepseek)$/.test(host),
    refuses: new Set(isOpenai ? ['topK'] : (strict?.[1] ?? [])),
    takesStreamOptions: !isMistral,
    checksCallIds: isOpenai || isMistral,
    fitCallId: isMistral ? nineCharacters : fortyCharacters,
  }
}

/** OpenAI's limit; within it the ids of all formats are taken as they are. */
function fortyCharacters(id: string): string {
  return fitCallId(id, { pattern: /^[\x21-\x7e]+$/, maxLength: 40 })
}

/** Mistral takes ids of nine letters and digits, no more and no less. */
function nineCharacters(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id
  return new Bun.CryptoHasher('sha256').update(id).digest('hex').slice(0, 9)
}
