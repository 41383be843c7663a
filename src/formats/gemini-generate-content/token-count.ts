import type { TokenCountCodec } from '@/formats/codec.ts'
import { asNumber } from '@/json/json.ts'
import { fullName } from './models.ts'
import { encodeRequest } from './request/request-encode.ts'

/** `countTokens`: with instructions and tools counted, which only the long form of its request does. */
export const tokenCount: TokenCountCodec = {
  encodeRequest(request, target) {
    const model = fullName(target.model)
    return { generateContentRequest: { model, ...encodeRequest(request, target).body } }
  },
  decodeResponse: body => asNumber(body['totalTokens']),
  encodeResponse: tokens => ({ totalTokens: tokens }),
}
