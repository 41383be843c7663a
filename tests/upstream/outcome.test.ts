import { describe, expect, test } from 'bun:test'
import { CODECS } from '@/formats/registry.ts'
import { FORMATS } from '@/generation/format.ts'
import { judge, retryAfterMs } from '@/upstream/outcome.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')

describe('edge 84: when to try again', () => {
  test.each([
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:07 GMT' }, 7000],
    [{ 'retry-after': 'Fri, 20 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '1250' }, 1250],
    [{ 'retry-after-ms': '1250', 'retry-after': '9' }, 1250],
    [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
    [{ 'retry-after-ms': '-1', 'retry-after': '9' }, 9000],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, 0],
    [{}, undefined],
  ])('the headers %j mean %p ms', (headers, ms) => {
    expect(retryAfterMs(new Headers(headers), NOW)).toBe(ms)
  })

  test('a RetryInfo in the body is read', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' }]
    const body = { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'quota', details } }
    const fault = CODECS['gemini-generate-content'].decodeFault(429, JSON.stringify(body))
    expect(judge(fault)).toMatchObject({ kind: 'upstream_rate_limited', retryAfterMs: 34_400 })
  })

  test('a 429 that says nothing is a second', () => {
    const complaint = { message: 'm', code: undefined, param: undefined, retryAfterMs: undefined }
    expect(judge({ status: 429, ...complaint })).toMatchObject({ status: 429, retryAfterMs: 1000 })
    expect(judge({ status: 500, ...complaint }).retryAfterMs).toBeUndefined()
  })

  test.each([503, 529])('%i is an overload: a 503, and another channel may do better', status => {
    const complaint = { message: 'm', code: undefined, param: undefined, retryAfterMs: undefined }
    expect(judge({ status, ...complaint })).toMatchObject({
      kind: 'upstream_error',
      status: 503,
      callerMayRetry: false,
      retry: 'next-channel',
      retryAfterMs: 1000,
    })
  })
})

describe('edge 85: a refusal of our own key is no 401 of the caller, and its text is told without the key', () => {
  test.each(FORMATS.flatMap(format => [401, 402, 403].map(status => [format, status] as const)))(
    '%s with %i',
    (format, status) => {
      const error = judge(
        CODECS[format].decodeFault(
          status,
          '{"error":{"message":"Incorrect API key: sk-proj-ab***yz. Sorry."}}',
        ),
      )
      expect(error).toMatchObject({ kind: 'upstream_auth', status: 502, retry: 'next-channel' })
      expect(error.message).toEndWith(`(status ${status}): Incorrect API key: [key] Sorry.`)
    },
  )

  test("Gemini's 400 for a bad key", () => {
    const error = {
      code: 400,
      message: 'API key not valid. Please pass a valid API key.',
      status: 'INVALID_ARGUMENT',
    }
    const fault = CODECS['gemini-generate-content'].decodeFault(400, JSON.stringify({ error }))
    expect(judge(fault)).toMatchObject({ kind: 'upstream_auth', status: 502 })
    const told = { param: undefined, retryAfterMs: undefined, message: 'Renew it', code: 'API_KEY_INVALID' }
    expect(judge({ ...told, status: 400 })).toMatchObject({ kind: 'upstream_auth', status: 502 })
  })

  test("xAI's 400 for a bad key", () => {
    const body = { code: 'invalid-argument', error: 'Incorrect API key provided: xa***34. Ask for another.' }
    const fault = CODECS['openai-chat-completions'].decodeFault(400, JSON.stringify(body))
    expect(judge(fault)).toMatchObject({ kind: 'upstream_auth', status: 502, retry: 'next-channel' })
  })
})

describe('an account without money is the operator`s, whatever status says so', () => {
  test.each([
    [
      'Anthropic',
      'anthropic-messages',
      '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}',
    ],
    [
      'Anthropic, of a limit that its owner set',
      'anthropic-messages',
      '{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}',
    ],
    [
      'Alibaba',
      'openai-chat-completions',
      '{"error":{"code":"Arrearage","param":null,"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"}}',
    ],
    [
      'Groq, of an organization that is shut out',
      'openai-chat-completions',
      '{"error":{"message":"Organization has been restricted. Please reach out to support.","type":"invalid_request_error","code":"organization_restricted"}}',
    ],
    [
      'Google, of the country that the gateway is in',
      'gemini-generate-content',
      '{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}',
    ],
  ] as const)('a 400 of %s', (_, format, body) => {
    const error = judge(CODECS[format].decodeFault(400, body))
    expect(error).toMatchObject({ kind: 'upstream_auth', status: 502, retry: 'next-channel' })
  })

  test.each([
    [
      'Moonshot',
      '{"error":{"message":"Your account org-1 <ak-1> is suspended due to insufficient balance, please recharge your account","type":"exceeded_current_quota_error"}}',
    ],
    [
      'Z.ai',
      '{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}',
    ],
    [
      'xAI',
      '{"code":"Some resource has been exhausted","error":"Your team 6d2a has either used all available credits or reached its monthly spending limit."}',
    ],
    ...[
      'credit_balance_exhausted',
      'organization_spend_limit_exceeded',
      'project_spend_limit_exceeded',
      'organization_usage_limit_exceeded',
    ].map(code => [
      `OpenAI, ${code},`,
      `{"error":{"message":"No more this month.","type":"insufficient_quota","param":null,"code":"${code}"}}`,
    ]),
    [
      'Anthropic, of the most that its owner`s tier may spend,',
      '{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your API usage limits.","details":{"error_code":"enforced_spend_limit_reached"}}}',
    ],
  ])('a 429 of %s closes the key', (_, body = '') => {
    const error = judge(CODECS['openai-chat-completions'].decodeFault(429, body))
    expect(error).toMatchObject({ status: 429, kind: 'upstream_rate_limited', blames: 'key' })
  })
})

describe('what one request alone is refused for closes no key to the others', () => {
  const chat = (status: number, body: string) =>
    judge(CODECS['openai-chat-completions'].decodeFault(status, body))

  test.each([
    [
      'xAI, of the content',
      '{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Team: t-1, API key ID: k-1, Model: grok-9, Failed check: SAFETY_CHECK_TYPE_BIO"}',
    ],
    [
      'OpenRouter, of the content',
      '{"error":{"code":403,"message":"vendor/x-9 requires moderation on Vendor. Your input was flagged for \\"violence\\". No credits were charged.","metadata":{"reasons":["violence"],"flagged_input":"..."}}}',
    ],
    [
      'Google, of a file that is not there',
      '{"error":{"code":403,"message":"You do not have permission to access the File abc-1 or it may not exist.","status":"PERMISSION_DENIED"}}',
    ],
    [
      'Google, of a cache that is not there',
      '{"error":{"code":403,"message":"CachedContent not found (or permission denied)","status":"PERMISSION_DENIED"}}',
    ],
  ])('a 403 of %s', (_, body) => {
    expect(chat(403, body)).toMatchObject({ kind: 'upstream_rejected', status: 403, retry: 'never' })
  })

  test("a 403 of Together's for a prompt that is too long, by which clients know to compact theirs", () => {
    const error = chat(403, '{"error":{"message":"The prompt exceeds the context length of the model."}}')
    expect(error).toMatchObject({ kind: 'upstream_rejected', status: 403, code: 'context_length_exceeded' })
  })

  test('a 402 that says when to come back is a limit of the moment', () => {
    const error = judge({
      status: 402,
      message: 'Your running requests fill your budget.',
      code: undefined,
      param: undefined,
      retryAfterMs: 3000,
    })
    expect(error).toMatchObject({ kind: 'upstream_rate_limited', status: 429, retryAfterMs: 3000 })
    expect(error.blames).toBeUndefined()
  })

  test('a 402 of what one request might cost goes to another channel', () => {
    const message =
      'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 30104. To increase, visit ...'
    const error = chat(402, JSON.stringify({ error: { message, code: 402 } }))
    expect(error).toMatchObject({ kind: 'upstream_rejected', status: 502, retry: 'next-channel' })
    const none = message.replace('30104', '0')
    expect(chat(402, JSON.stringify({ error: { message: none, code: 402 } })).kind).toBe('upstream_auth')
  })

  test("OpenAI's 424 of the caller's own MCP server is no failure of OpenAI's", () => {
    const message =
      "Error retrieving tool list from MCP server: 'mine'. Http status code: 424 (Failed Dependency)"
    const error = { message, type: 'external_connector_error', param: 'tools', code: 'http_error' }
    expect(chat(424, JSON.stringify({ error }))).toMatchObject({
      kind: 'upstream_rejected',
      status: 424,
      retry: 'never',
      param: 'tools',
    })
    expect(chat(424, '{"error":{"message":"The model server failed"}}').kind).toBe('upstream_error')
    for (const status of [401, 403])
      expect(chat(status, JSON.stringify({ error }))).toMatchObject({
        kind: 'upstream_rejected',
        status: 424,
      })
  })

  test("Groq's 498 of a tier without room is a limit of the moment", () => {
    const error = chat(498, '{"error":{"message":"Flex tier capacity exceeded","code":"capacity_exceeded"}}')
    expect(error).toMatchObject({ kind: 'upstream_rate_limited', status: 429, retry: 'next-channel' })
  })
})

test("a request above what Groq's account may use in a minute goes to another channel, and closes no key", () => {
  const message =
    'Request too large for model `x` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.'
  const body = JSON.stringify({ error: { message, type: 'tokens', code: 'rate_limit_exceeded' } })
  const error = judge(CODECS['openai-chat-completions'].decodeFault(413, body))
  expect(error).toMatchObject({ kind: 'upstream_rejected', status: 413, retry: 'next-channel' })
  expect(error.blames).toBeUndefined()
})

test.each(['tool_use_failed', 'json_validate_failed'])(
  "a slip of the model's (Groq's %s) is the caller's to hear only where no other channel does better",
  code => {
    const body = JSON.stringify({ error: { message: 'm', type: 'invalid_request_error', code } })
    const error = judge(CODECS['openai-chat-completions'].decodeFault(400, body))
    expect(error).toMatchObject({ kind: 'upstream_rejected', status: 400, code, retry: 'next-channel' })
    expect(error.blames).toBeUndefined()
  },
)

describe('what the caller may be told of a complaint', () => {
  const complaint = { message: 'm', code: undefined, param: 'temperature', retryAfterMs: undefined }

  test.each([400, 404, 405, 406, 409, 410, 413, 414, 415, 416, 422, 431, 451])(
    'a %i is about the request: it goes back as it is, and nobody else is asked',
    status => {
      const error = judge({ status, ...complaint })
      expect(error).toMatchObject({ kind: 'upstream_rejected', status, retry: 'never', message: 'm' })
      expect(error).toMatchObject({ code: 'invalid_request', param: 'temperature' })
    },
  )

  test.each([408, 418, 421, 425, 500, 501, 502, 504, 520])('a %i is a failure of the upstream', status => {
    const error = judge({ status, ...complaint })
    expect(error).toMatchObject({ kind: 'upstream_error', status: 502, retry: 'next-channel' })
  })
})

test.each([0, -5000])(
  'a wait of %d ms is none: a client hears the same in each of the headers that tell it',
  ms => {
    const complaint = { message: 'm', code: undefined, param: undefined, retryAfterMs: ms }
    expect(judge({ status: 429, ...complaint }).retryAfterMs).toBe(1000)
    expect(judge({ status: 503, ...complaint }).retryAfterMs).toBe(1000)
    expect(judge({ status: 500, ...complaint }).retryAfterMs).toBeUndefined()
  },
)

test.each([429, 503, 500])('a wait that no vendor can mean is a day in a %d', status => {
  const complaint = { message: 'm', code: undefined, param: undefined, retryAfterMs: 1e22 }
  expect(judge({ status, ...complaint }).retryAfterMs).toBe(24 * 60 * 60 * 1000)
})

test("a request above what OpenAI's account may use in a minute is too large, and no limit of the moment", () => {
  const message =
    'Request too large for gpt-9 in organization org-1 on tokens per min (TPM): Limit 30000, Requested 48000. The input or output tokens must be reduced in order to run successfully.'
  const body = JSON.stringify({ error: { message, type: 'tokens', code: 'rate_limit_exceeded' } })
  const error = judge(CODECS['openai-chat-completions'].decodeFault(429, body))
  expect(error).toMatchObject({ kind: 'upstream_rejected', status: 413, retry: 'next-channel' })
})

describe('what of a channel a complaint is about', () => {
  const complaint = { code: undefined, param: undefined, retryAfterMs: undefined }

  test.each([
    ['OpenAI', 404, 'model_not_found', 'The model `gpt-9` does not exist or you do not have access to it.'],
    ['OpenAI', 403, undefined, 'Project `p` does not have access to model `gpt-5.1`'],
    ['OpenAI', 403, 'model_not_found', 'no'],
    [
      'OpenAI',
      403,
      undefined,
      'Your organization must be verified to use the model `gpt-image-9`. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.',
    ],
    [
      'Alibaba',
      403,
      'AccessDenied.Unpurchased',
      'Access to model denied. Please make sure you are eligible for using the model.',
    ],
    ['Groq', 403, 'model_permission_blocked_org', 'The model `x` is blocked at the organization level.'],
    [
      'Groq',
      400,
      'model_decommissioned',
      'The model `x` has been decommissioned and is no longer supported.',
    ],
    ['Hugging Face', 400, 'model_not_supported', "The requested model 'x' is not supported by any provider."],
    ['GitHub', 400, 'unknown_model', 'Unknown model: x'],
    ['xAI', 400, 'invalid-argument', 'Model not found: grok-9'],
    ['Mistral', 400, '1500', 'Invalid model: mistral-9'],
    ['DeepSeek', 400, 'invalid_request_error', 'Model Not Exist'],
    ['SiliconFlow', 400, '20012', 'Model does not exist. Please check it carefully.'],
    ['Z.ai', 400, '1211', 'Unknown Model, please check the model code.'],
    [
      'Voyage',
      400,
      undefined,
      "Model voyage-9 is not supported. Supported models are ['voyage-2', 'voyage-01'].",
    ],
    ['Amazon', 400, undefined, 'The provided model identifier is invalid.'],
    ['Cohere', 404, undefined, "model 'embed-9' not found, make sure the correct model ID was used"],
    [
      'LiteLLM',
      400,
      '400',
      '/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view available models for your key.',
    ],
    [
      'LiteLLM',
      400,
      '400',
      "400: {'error': '/responses: Invalid model name passed in model=x. Call `/v1/models`.'}",
    ],
    [
      'Azure',
      404,
      'DeploymentNotFound',
      'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
    ],
    ['Moonshot', 404, 'resource_not_found_error', 'Not found the model kimi-9 or Permission denied'],
    ['Anthropic', 404, 'not_found_error', 'model: claude-9'],
    ['Google', 404, 'NOT_FOUND', 'models/gemini-9 is not found for API version v1beta, or is not supported'],
    ['Vertex', 404, 'NOT_FOUND', 'Publisher Model `projects/p/models/x` was not found'],
    ['vLLM', 404, 'NotFoundError', 'The model `x` does not exist.'],
    ['Ollama', 404, undefined, 'model "x" not found, try pulling it first'],
    ['Fireworks', 404, undefined, 'Model not found, inaccessible, and/or not deployed'],
    ['Volcengine', 404, 'InvalidEndpointOrModel.NotFound', 'The model or endpoint doubao-9 does not exist'],
    ['Volcengine', 404, 'ModelNotOpen', 'Your account 21 has not activated the model doubao-9.'],
    ['LiteLLM', 404, '404', 'litellm.NotFoundError: OpenAIException - The model `x` does not exist'],
    [
      'LiteLLM',
      404,
      '404',
      'litellm.NotFoundError: AzureException NotFoundError - The model `x` does not exist',
    ],
    ['a follower', 404, undefined, 'Model x-large not found'],
    ['a follower', 404, undefined, 'The requested model x is currently not available'],
  ])('%s, %i, %p, %p: one model with this key; another channel may have it', (_, status, code, message) => {
    const error = judge({ ...complaint, status, code, message })
    expect(error).toMatchObject({ blames: 'model', retry: 'next-channel' })
    expect(error.status).toBe(status === 403 ? 502 : status)
  })

  test.each([
    [404, 'Response resp_1 not found.'],
    [404, 'no'],
    [404, "No such File object: 'the model x does not exist'"],
    [404, "Container with id 'model' not found."],
    [404, 'container: no access to the model'],
    [404, 'FileError: model weights.bin not found'],
    [404, 'FileNotFoundError: model weights.bin not found'],
    [400, 'The model does not exist'],
    // OpenRouter's callers name models in `models` as well.
    [400, 'vendor/x-9 is not a valid model ID'],
    [404, 'No endpoints found for vendor/x-9.'],
    [400, "messages[0].content: '/x: Invalid model name passed in model=y' is too long"],
    [400, "Invalid model: expected a string, got 'a b'"],
    [403, 'Country, region, or territory not supported'],
    [422, 'tools: the model x is not supported'],
  ])('%i, %p: no model', (status, message) => {
    const error = judge({ ...complaint, status, message })
    expect(error.blames).toBeUndefined()
    expect(error.retry).toBe(status === 403 ? 'next-channel' : 'never')
  })

  test("OpenAI's 400 of tools beside reasoning is about its format: a channel of Responses can serve them", () => {
    const message =
      "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    const refused = { ...complaint, status: 400, param: 'reasoning_effort', message }
    expect(judge(refused)).toMatchObject({ status: 400, blames: undefined, retry: 'next-channel' })
    const behindLitellm = `litellm.BadRequestError: OpenAIException - ${message}`
    expect(judge({ ...refused, message: behindLitellm }).retry).toBe('next-channel')
    expect(judge({ ...refused, message: "Unsupported value: 'reasoning_effort'" }).retry).toBe('never')
    expect(judge({ ...refused, param: 'messages[0]' }).retry).toBe('never')
  })

  test.each([
    [404, 'This model is only supported in v1/responses and not in v1/chat/completions.'],
    [
      400,
      'The chatCompletion operation does not work with the specified model, gpt-5.6-codex. Please choose different model and try again.',
    ],
    [
      400,
      'Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.',
    ],
  ])('%i, %p: another channel may do it', (status, message) => {
    const error = judge({ ...complaint, status, message })
    expect(error).toMatchObject({ kind: 'upstream_rejected', blames: undefined, retry: 'next-channel' })
  })

  test.each([
    [400, '"llama3.3:70b" does not support thinking'],
    [400, 'Unrecognized request argument supplied: reasoning_effort'],
    [
      400,
      'litellm.BadRequestError: AzureException - Unrecognized request argument supplied: reasoning_effort',
    ],
    [400, "Unsupported parameter: 'reasoning.effort' is not supported with this model."],
    [400, '`reasoning_effort` is not supported with this model'],
    [400, 'Model grok-code-fast-1 does not support parameter reasoningEffort.'],
  ])('%i, %p: the model does not think, and can be asked without', (status, message) => {
    expect(judge({ ...complaint, status, message })).toMatchObject({
      status,
      blames: 'thinking',
      retry: 'never',
    })
  })

  test.each([
    [400, 'messages[0]: "x" does not support thinking'],
    [400, "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."],
    [400, 'Unrecognized request argument supplied: reasoning_content'],
    [404, '"x" does not support thinking'],
    [400, '"x" does not support tools'],
  ])('%i, %p: something else', (status, message) => {
    expect(judge({ ...complaint, status, message }).blames).toBeUndefined()
  })

  test('a relay whose complaints always have a param, if an empty one, means the model as well', () => {
    const missing = { ...complaint, status: 404, code: 'model_not_found', param: '', message: 'no' }
    expect(judge(missing)).toMatchObject({ blames: 'model', retry: 'next-channel' })
  })

  test("OpenAI's 400, 403 or 404 is about the model that was asked; one that the caller named elsewhere is theirs", () => {
    const message = "The requested model 'x' does not exist."
    const missing = { ...complaint, status: 400, code: 'model_not_found', message }
    for (const status of [400, 403, 404])
      expect(judge({ ...missing, status, param: 'model' })).toMatchObject({
        blames: 'model',
        retry: 'next-channel',
      })
    for (const [status, param] of [
      [400, 'tools[0].model'],
      [403, 'tools[0].model'],
      [404, 'tools[0].model'],
      [400, undefined],
    ] as const) {
      const error = judge({ ...missing, status, param })
      expect(error).toMatchObject({ kind: 'upstream_rejected', status, retry: 'never' })
      expect(error.blames).toBeUndefined()
    }
  })

  test.each([
    "Invalid value: 'incorrect api key provided'. Supported values are: 'low' and 'high'.",
    'Invalid value at \'contents[0].role\', "API key expired"',
    "Input tag 'api_key_invalid' found using 'type' does not match any of the expected tags",
  ])('%s: what the caller wrote, and no key of ours', message => {
    const error = judge({ ...complaint, status: 400, message })
    expect(error).toMatchObject({ kind: 'upstream_rejected', status: 400, retry: 'never' })
  })

  test('a key whose credit is gone is no key at its limit', () => {
    const message = 'You exceeded your current quota, please check your plan and billing details.'
    for (const code of ['insufficient_quota', 'billing_hard_limit_reached']) {
      const spent = judge({ ...complaint, status: 429, code, message })
      expect(spent).toMatchObject({ status: 429, kind: 'upstream_rate_limited', blames: 'key' })
    }
    const limited = judge({ ...complaint, status: 429, code: 'rate_limit_exceeded', message: 'slow down' })
    expect(limited).toMatchObject({ retry: 'next-channel', blames: undefined })
  })

  test.each([
    'You exceeded your current quota, please check your plan and billing details. For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit',
    'Allocated quota exceeded, please increase your quota limit.',
  ])('Alibaba has no more tokens for a model in this minute, and its key is no spent one: %s', message => {
    const error = { message, type: 'insufficient_quota', param: null, code: 'insufficient_quota' }
    const limited = judge(CODECS['openai-chat-completions'].decodeFault(429, JSON.stringify({ error })))
    expect(limited).toMatchObject({ kind: 'upstream_rate_limited', retry: 'next-channel', blames: undefined })
  })
})

test("what a vendor says of a request for its own client's program reaches the caller of that client", () => {
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  const body = { type: 'error', error: { type: 'invalid_request_error', message: 'no thread', details } }
  const error = judge(CODECS['anthropic-messages'].decodeFault(400, JSON.stringify(body)))
  expect(error).toMatchObject({ kind: 'upstream_rejected', status: 400, details })
})
