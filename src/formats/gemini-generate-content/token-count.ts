import type { TokenCountCodec } from '@/formats/codec.ts'
import { asNumber, present } from '@/json/json.ts'
import { fullName, isVertex } from './models.ts'
import { encodeRequest } from './request/request-encode.ts'

/**
 * `countTokens`: with instructions and tools counted, which at the Gemini API only the long form of its request does. Vertex
 * has them beside the contents, and no long form:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/express-mode/rest/v1/publishers.models/countTokens
 */
export const tokenCount: TokenCountCodec = {
  encodeRequest(request, target) {
    const { body } = encodeRequest(request, target)
    if (!isVertex(target)) return { generateContentRequest: { model: fullName(target.model), ...body } }
    const { systemInstruction, contents, tools } = body
    return present({ systemInstruction, contents, tools })
  },
  decodeResponse: body => asNumber(body['totalTokens']),
  encodeResponse: tokens => ({ totalTokens: tokens }),
}
