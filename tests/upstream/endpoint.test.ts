import { describe, expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import type { Format } from '@/generation/format.ts'
import { endpointUrl, methodOf, type UpstreamCall } from '@/upstream/endpoint.ts'

const channel = (format: Format, baseUrl = 'https://up.example') => channelOf(1, { format, baseUrl })

function call(kind: UpstreamCall['kind'], more: Partial<UpstreamCall> = {}): UpstreamCall {
  return { kind, model: 'm', stream: false, ...more }
}

const OPENAI = [
  [call('generate'), 'POST', undefined],
  [call('embeddings'), 'POST', '/v1/embeddings'],
  [call('image-generation'), 'POST', '/v1/images/generations'],
  [call('image-edit'), 'POST', '/v1/images/edits'],
  [call('image-variation'), 'POST', '/v1/images/variations'],
  [call('speech'), 'POST', '/v1/audio/speech'],
  [call('transcription'), 'POST', '/v1/audio/transcriptions'],
  [call('translation'), 'POST', '/v1/audio/translations'],
  [call('video-create'), 'POST', '/v1/videos'],
  [call('video-show', { id: 'v 1' }), 'GET', '/v1/videos/v%201'],
  [
    call('video-content', { id: 'v', query: 'variant=thumbnail' }),
    'GET',
    '/v1/videos/v/content?variant=thumbnail',
  ],
  [call('video-remix', { id: 'v' }), 'POST', '/v1/videos/v/remix'],
  [call('video-delete', { id: 'v' }), 'DELETE', '/v1/videos/v'],
] as const

const GEMINI = [
  [call('generate'), 'POST', '/v1beta/models/m:generateContent'],
  [call('generate', { stream: true }), 'POST', '/v1beta/models/m:streamGenerateContent?alt=sse'],
  [call('embed-content'), 'POST', '/v1beta/models/m:embedContent'],
  [
    call('batch-embed-contents', { model: 'tunedModels/a b' }),
    'POST',
    '/v1beta/tunedModels/a%20b:batchEmbedContents',
  ],
  [call('predict', { model: 'models/imagen:4' }), 'POST', '/v1beta/models/imagen%3A4:predict'],
  [call('predict-long-running'), 'POST', '/v1beta/models/m:predictLongRunning'],
  [call('operation', { id: 'models/m/operations/o1' }), 'GET', '/v1beta/models/m/operations/o1'],
  [call('file-download', { id: 'f1' }), 'GET', '/v1beta/files/f1:download?alt=media'],
] as const

describe('where calls go', () => {
  test.each(OPENAI)("on both of OpenAI's formats: %p", (one, method, path) => {
    expect(methodOf(one)).toBe(method)
    expect(endpointUrl(channel('openai-chat-completions'), one)).toBe(
      `https://up.example${path ?? '/v1/chat/completions'}`,
    )
    expect(endpointUrl(channel('openai-responses'), one)).toBe(`https://up.example${path ?? '/v1/responses'}`)
  })

  test.each(GEMINI)("on Gemini's: %p", (one, method, path) => {
    expect(methodOf(one)).toBe(method)
    expect(endpointUrl(channel('gemini-generate-content'), one)).toBe(`https://up.example${path}`)
  })

  test('a base that ends in a version is used as it is', () => {
    const versioned = channel('openai-responses', 'https://up.example/openai/v2')
    expect(endpointUrl(versioned, call('embeddings'))).toBe('https://up.example/openai/v2/embeddings')
  })

  test('so is the one at which Google speaks as OpenAI does, and none with its version further up', () => {
    const google = channel('openai-chat-completions', 'https://up.example/v1beta/openai')
    expect(endpointUrl(google, call('generate'))).toBe('https://up.example/v1beta/openai/chat/completions')
    const behind = channel('anthropic-messages', 'https://up.example/v1/account/gateway/anthropic')
    expect(endpointUrl(behind, call('generate'))).toBe(
      'https://up.example/v1/account/gateway/anthropic/v1/messages',
    )
  })

  test.each([
    ['/v1/publishers/google'],
    ['/v1beta1/projects/p-1/locations/us-central1/publishers/google'],
    ['/v1/account/gateway/google-vertex-ai/v1/projects/p-1/locations/global/publishers/google'],
  ])("so is Vertex' to the publisher of the models: %p", path => {
    const vertex = channel('gemini-generate-content', `https://up.example${path}`)
    const url = `https://up.example${path}/models/gemini-3-flash`
    const asked = { ...call('generate'), model: 'gemini-3-flash' }
    expect(endpointUrl(vertex, asked)).toBe(`${url}:generateContent`)
    expect(endpointUrl(vertex, { ...asked, kind: 'count-tokens' })).toBe(`${url}:countTokens`)
  })

  test("and Vertex' to what speaks as OpenAI does", () => {
    const base = 'https://up.example/v1/projects/p-1/locations/global/endpoints/openapi'
    expect(endpointUrl(channel('openai-chat-completions', base), call('generate'))).toBe(
      `${base}/chat/completions`,
    )
  })

  test('what a format does not have is asked of nobody', () => {
    expect(() => endpointUrl(channel('anthropic-messages'), call('embeddings'))).toThrow('has no embeddings')
    expect(() => endpointUrl(channel('gemini-generate-content'), call('speech'))).toThrow('has no speech')
    expect(() => endpointUrl(channel('openai-responses'), call('predict'))).toThrow('has no predict')
  })
})
