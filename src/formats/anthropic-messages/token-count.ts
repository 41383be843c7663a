import type { TokenCountCodec } from '@/formats/codec.ts'
import { asNumber } from '@/json/json.ts'
import { encodeRequest } from './request/request-encode.ts'

/** `POST /v1/messages/count_tokens`: a request without what only concerns the answer. */
export const tokenCount: TokenCountCodec = {
  encodeRequest(request, target) {
    const {
      max_tokens: _maxTokens,
      temperature: _temperature,
      top_p: _topP,
      top_k: _topK,
      stop_sequences: _stop,
      stream: _stream,
      metadata: _metadata,
      service_tier: _tier,
      ...counted
    } = encodeRequest(request, target).body
    return counted
  },
  decodeResponse: body => asNumber(body['input_tokens']),
  encodeResponse: tokens => ({ input_tokens: tokens }),
}
