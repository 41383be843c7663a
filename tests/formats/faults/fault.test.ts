import { describe, expect, test } from 'bun:test'
import { least, msOf } from '#tests/support/least.ts'
import { decodeFault, faultError } from '@/formats/faults/fault.ts'
import { noteSent } from '@/telemetry/sent-credentials.ts'

test.each([
  [1002, 'rate limit', 429],
  [1004, 'not authorized', 401],
  [1008, 'insufficient balance', 402],
  [2013, 'invalid params', 400],
  [1000, 'unknown error', 500],
])("MiniMax's number %d in a 200 (%s) is a %d", (status_code, status_msg, status) => {
  const body = { id: 'x', choices: null, base_resp: { status_code, status_msg } }
  expect(decodeFault(200, JSON.stringify(body))).toMatchObject({ status, message: status_msg })
})

describe('edge 83: error bodies of every shape', () => {
  test.each([
    [
      'OpenAI',
      '{"error":{"message":"Bad value","type":"invalid_request_error","param":"n","code":null}}',
      'Bad value',
    ],
    ['Anthropic', '{"type":"error","error":{"type":"not_found_error","message":"model: x"}}', 'model: x'],
    ['Gemini', '{"error":{"code":400,"message":"Bad part","status":"INVALID_ARGUMENT"}}', 'Bad part'],
    ['Gemini in an array', '[{"error":{"code":400,"message":"Bad part","status":"X"}}]', 'Bad part'],
    ['detail as text', '{"detail":"Not authenticated"}', 'Not authenticated'],
    ['detail as a list', '{"detail":[{"loc":["body","n"],"msg":"field required"}]}', 'field required'],
    ['error as text', '{"error":"no such model","code":"x"}', 'no such model'],
    ['error as a title', '{"error":"Not Found","message":"no route"}', 'no route'],
    ['message alone', '{"message":"quota"}', 'quota'],
    ['an integer code', '{"error":{"code":429,"message":"slow down"}}', 'slow down'],
    ['JSON inside the message', '{"error":{"message":"{\\"error\\":{\\"message\\":\\"inner\\"}}"}}', 'inner'],
    [
      'OpenRouter',
      '{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\\"detail\\":\\"deep\\"}"}}}',
      'deep',
    ],
    ['a server-sent event', 'event: error\ndata: {"error":{"message":"late"}}\n\n', 'late'],
    ['text', 'upstream connect error', 'upstream connect error'],
    ['HTML', '<!doctype html><html><h1>nginx</h1></html>', 'Bad Request'],
    ['HTML inside JSON', '{"message":"<html>nginx</html>"}', 'Bad Request'],
    ['nothing', '', 'Bad Request'],
    ['an empty object', '{}', 'Bad Request'],
    ['null', 'null', 'Bad Request'],
  ])('%s', (_name, body, message) => {
    expect(decodeFault(400, body).message).toBe(message)
  })

  test("keeps of Anthropic's details what its SDK acts on, and nothing else", () => {
    const details = (value: object) =>
      decodeFault(400, JSON.stringify({ type: 'error', error: { type: 'x', message: 'm', details: value } }))
        .details
    const thread = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
    expect(details({ ...thread, workspace: 'wrk_1' })).toEqual(thread)
    const images = { max_side_length_pixels: 2000, paths: ['messages.0.content.1'] }
    const large = { error_code: 'image_dimensions_too_large', ...images }
    expect(details({ ...large, organization: 'org_1' })).toEqual(large)
    expect(details({ error_code: 'thread_not_found' })).toEqual({ error_code: 'thread_not_found' })
    expect(details({ workspace: 'wrk_1' })).toBeUndefined()
  })

  test('keeps code and param', () => {
    const body =
      '{"error":{"message":"m","type":"invalid_request_error","param":"tools[0]","code":"invalid_value"}}'
    expect(decodeFault(400, body)).toMatchObject({ code: 'invalid_value', param: 'tools[0]' })
    expect(decodeFault(422, '{"detail":[{"loc":["body","n"],"msg":"required"}]}').param).toBe('n')
  })
})

describe('the status', () => {
  test.each([
    ['{"error":{"code":429,"message":"m"}}', 429],
    ['{"error":{"message":"m","type":"overloaded_error"}}', 529],
    ['{"error":{"message":"m","code":"context_length_exceeded"}}', 400],
    ['{"error":{"message":"m","type":"server_error"}}', 500],
    ['{"error":{"code":8,"status":"RESOURCE_EXHAUSTED","message":"m"}}', 429],
    ['{"error":{"message":"m","code":"insufficient_quota"}}', 429],
    ['{"error":{"message":"m","type":"insufficient_quota","code":"credit_balance_exhausted"}}', 429],
    ['{"error":{"message":"m","type":"insufficient_quota","code":"project_spend_limit_exceeded"}}', 429],
    ['{"error":{"message":"m","type":"insufficient_quota","code":"organization_usage_limit_exceeded"}}', 429],
    ...[
      'bio_policy',
      'misalignment_policy_violation',
      'image_content_policy_violation',
      'image_too_small',
      'image_parse_error',
      'empty_image_file',
      'failed_to_download_image',
    ].map((code): [string, number] => [`{"error":{"message":"m","code":"${code}"}}`, 400]),
    ['{"error":{"message":"m","code":"data_residency_mismatch"}}', 500],
    ['{"error":"m"}', 500],
    ['<html></html>', 502],
  ])('inside a 200: %s means %d', (body, status) => {
    expect(decodeFault(200, body).status).toBe(status)
  })

  test("is the answer's own when that is an error", () => {
    expect(decodeFault(503, '{"error":{"code":400,"message":"m"}}').status).toBe(503)
  })

  test('of a redirect is its own: it says what is wrong with the address', () => {
    expect(decodeFault(307, '')).toMatchObject({ status: 307, message: 'Temporary Redirect' })
    expect(decodeFault(301, '{"message":"moved"}')).toMatchObject({ status: 301, message: 'moved' })
  })
})

describe('edge 86: a prompt beyond the context', () => {
  test.each([
    ["This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."],
    ['Your input exceeds the context window of this model. Please adjust your input and try again.'],
    ['prompt is too long: 210000 tokens > 200000 maximum'],
    ['input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000'],
    ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
    ['Please reduce the length of the messages or completion.'],
    ['Invalid request: Your request exceeded model token limit: 131072'],
    ['Prompt contains 40000 tokens, too large for model with 32768 maximum context length'],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    ['Range of input length should be [1, 129024]'],
    ['The model returned: Input Tokens Exceeded: Number of input tokens exceeds maximum length.'],
    ['number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.'],
    ['the request exceeds the available context size. try increasing the context size'],
    ['prompt token count of 130000 exceeds the limit of 128000'],
    ['Input is too long for requested model.'],
    ['Prompt exceeds max length'],
    ['The decoder prompt (length 5000) is longer than the maximum model length of 4096.'],
    [
      'Trying to keep the first 11149 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
    ],
    ['Context size has been exceeded.'],
    [
      'Reached context length of 4096 tokens with model (arch: qwen3) that does not currently support mid-generation context overflow.',
    ],
  ])('%s', message => {
    expect(decodeFault(400, JSON.stringify({ error: { message } })).contextLength).toBe(true)
  })

  test.each([{ code: 'context_length_exceeded' }, { type: 'too_many_prompt_tokens', code: 400 }])(
    'is told by the code alone: %j',
    error => {
      const body = JSON.stringify({ error: { message: 'm', ...error } })
      expect(decodeFault(400, body).contextLength).toBe(true)
    },
  )

  test.each([
    [429, 'Request too large for gpt-4 on tokens per min (TPM): Limit 10000. maximum context length'],
    [400, "Unsupported parameter: 'max_tokens'"],
    [400, 'messages: at least one message is required'],
  ])('is not seen in %d %s', (status, message) => {
    expect(decodeFault(status, JSON.stringify({ error: { message } })).contextLength).toBe(false)
  })
})

describe('reasoning that the upstream did not make, or takes none back of', () => {
  test.each([
    ['The encrypted content gAAA...5IEt could not be verified.', 'invalid_encrypted_content'],
    [
      'The encrypted content for item rs_0dbe could not be verified. Reason: Encrypted content could not be decrypted',
      null,
    ],
    ["Item 'msg_05' of type 'message' was provided without its required 'reasoning' item: 'rs_05'.", null],
    ["Item 'rs_07' of type 'reasoning' was provided without its required following item.", null],
    ["Referenced reasoning item 'rs_07' was not found or has expired.", null],
    ['messages.1.content.0: Invalid `signature` in `thinking` block', null],
    ['messages.3.content.0: Invalid signature in thinking block', null],
    ['messages.23.content.2: Invalid `data` in `redacted_thinking` block', null],
    [
      'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
      null,
    ],
    [
      'messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
      null,
    ],
    ['Thought signature is not valid.', null],
    ['Corrupted thought signature.', null],
    ['Some content is bad', 'invalid_encrypted_content'],
    [
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
      null,
    ],
    ['messages[3].reasoning: reasoning is not supported with this model', null],
    ['Reasoning input is not enabled for this model', '3051'],
    ["Unknown parameter: 'messages[1].reasoning_content'.", 'unknown_parameter'],
    ["Extra inputs are not permitted, field: 'messages[8].reasoning', value: 'I think'", null],
    ["Extra inputs are not permitted, field: 'messages[5].reasoning_details'", null],
    ['Encrypted content is not supported.', null],
    ["item['content'] is not an array", null],
    ["item['content'] is empty", null],
  ])('is told by %j and the code %p', (message, code) => {
    expect(decodeFault(400, JSON.stringify({ error: { message, code } })).foreignReasoning).toBe(true)
  })

  test.each([
    [
      'Cerebras',
      400,
      '{"message":"messages.2.assistant.reasoning_content: property \'messages.2.assistant.reasoning_content\' is unsupported","type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}',
    ],
    [
      'Mistral',
      422,
      '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":"\\n"}]},"type":"invalid_request_error"}',
    ],
  ])('is told by the body of %s', (_vendor, status, body) => {
    expect(decodeFault(status, body).foreignReasoning).toBe(true)
  })

  test.each([
    [400, 'messages.1.content.0.thinking.signature: Field required'],
    [400, 'Function call is missing a thought_signature in functionCall parts'],
    [403, 'The request signature we calculated does not match the signature you provided'],
    [500, 'The encrypted content could not be verified.'],
    [400, 'The `reasoning_content` in the thinking mode must be passed back to the API.'],
    [400, "'reasoning_effort' is not supported with this model"],
    [400, 'Reasoning prompt mode is not enabled for this model'],
    [400, 'messages.2: reasoning_effort is not supported'],
    [400, "Extra inputs are not permitted, field: 'messages[3].tool_name'"],
    [400, "'content' is not an array"],
  ])('is not what %d %j is about', (status, message) => {
    expect(decodeFault(status, JSON.stringify({ error: { message } })).foreignReasoning).toBe(false)
  })
})

describe("what is the operator's stays with the operator", () => {
  test.each([
    ['Incorrect API key provided: sk-proj-abcd1234efgh5678.', 'Incorrect API key provided: [key]'],
    ['key AIzaSyA-1234567890abcdef is bad', 'key [key] is bad'],
    ['Incorrect API key provided: letmein', 'Incorrect API key provided: [key]'],
    ['Invalid api_key=letmein, ask for another', 'Invalid api_key=[key], ask for another'],
    ['Incorrect API key provided: letmein. Ask for one.', 'Incorrect API key provided: [key]. Ask for one.'],
    [`Incorrect API key provided: "let.me.in".`, `Incorrect API key provided: "[key]".`],
    [`Incorrect API key provided: 'letmein'`, `Incorrect API key provided: '[key]'`],
    [String.raw`{\"detail\":\"api_key=\"letmein\"\"}`, String.raw`{\"detail\":\"api_key=\"[key]\"\"}`],
    ['There is no api_key=letmein here', 'There is no api_key=[key] here'],
    ['No API key provided: use the header', 'No API key provided: use the header'],
    ['Missing API key: pass one', 'Missing API key: pass one'],
    ['header Authorization: Bearer abc.def', 'header Authorization: Bearer [key]'],
    ['see https://internal.example.com:8443/v1?key=1 now', 'see [url] now'],
    [
      'Rate limit reached in organization org-abcdEFGH1234 on tokens',
      'Rate limit reached in organization [account] on tokens',
    ],
    ['dial tcp 10.0.3.7:8080 refused', 'dial tcp [address] refused'],
    ['no host api.internal.example.com found', 'no host [address] found'],
    [
      'Team: 6d2aeb51-0a4c-4a55-b3a4-9f7c13aa2f01, API key ID: 0a4c6d2a-eb51-4a55-b3a4-9f7c13aa2f02, Model: x',
      'Team: [account], API key ID: [account], Model: x',
    ],
    [
      'Your account 2100012345 has not activated the model /subscriptions/6d2aeb51-0a4c-4a55-b3a4-9f7c13aa2f01/x',
      'Your account [account] has not activated the model /subscriptions/[account]/x',
    ],
    ["consumer 'projects/123456789' has no quota", "consumer 'projects/[account]' has no quota"],
  ])('%s', (message, clean) => {
    expect(decodeFault(500, JSON.stringify({ error: { message } })).message).toBe(clean)
  })

  test('a key at which a long text is cut stays out of the message as a whole', () => {
    const key = 'PLAIN/operators/key/that/has/no/looks'
    noteSent(key)
    const addresses = `http://a/${'x'.repeat(88)} `.repeat(41)
    for (let cut = 1; cut < key.length; cut += 1) {
      const { message } = decodeFault(500, `${addresses.slice(0, 4000 - cut)} ${key} and more`)
      expect(message).not.toContain('PLAIN')
    }
  })

  test('a text of many words that could be addresses is read in time', async () => {
    const text = `no ${'a-'.repeat(32_000)}`
    // Measured on Bun 1.4.5: 3 ms; the whole of it took a second.
    const ms = await least(200, () =>
      msOf(() => expect(decodeFault(400, text).message).toStartWith('no a-a-')),
    )
    expect(ms).toBeLessThan(200)
  })

  test('a key is taken out of the code, the field and the details too', () => {
    const [sent, known] = ['THE-OPERATORS-OWN-KEY', 'sk-abcdefgh12345678']
    noteSent(sent)
    for (const key of [sent, known]) {
      const details = { error_code: key, unsupported: [key], paths: [`messages.0.${key}`] }
      const error = { message: 'no', code: `bad_${key}`, param: `body.${key}`, details }
      for (const body of [{ error }, { error: { ...error, code: null, type: `bad ${key}` } }]) {
        const fault = decodeFault(400, JSON.stringify(body))
        expect(JSON.stringify(fault)).not.toContain(key)
        expect(fault).toMatchObject({ param: 'body.[key]', details: { paths: ['messages.0.[key]'] } })
      }
    }
  })

  test('what looks alike is kept', () => {
    const message = 'task-123456 gpt-4.1-mini messages.0.content.text at risk-assessment'
    expect(decodeFault(400, JSON.stringify({ error: { message } })).message).toBe(message)
  })
})

describe('the delay', () => {
  test('comes from RetryInfo', () => {
    const body =
      '{"error":{"code":429,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}]}}'
    expect(decodeFault(429, body).retryAfterMs).toBe(34_400)
  })

  test.each([
    ['Please try again in 20ms.', 20],
    ['Please try again in 1h2m.', 3_720_000],
    ['Please try again in 1m30.5s. Visit', 90_500],
    ['Please retry after 10 seconds.', 10_000],
  ])('comes from the text: %s', (message, delay) => {
    expect(decodeFault(429, JSON.stringify({ error: { message } })).retryAfterMs).toBe(delay)
  })

  test('is undefined when nothing names it', () => {
    expect(decodeFault(429, '{"error":{"message":"slow down"}}').retryAfterMs).toBeUndefined()
  })
})

describe('faultError', () => {
  test('carries the text and the status, and lets another channel try', () => {
    const error = faultError(decodeFault(200, '{"error":{"code":429,"message":"slow down"}}'))
    expect(error.kind).toBe('upstream_error')
    expect(error.message).toBe('The upstream failed with 429: slow down')
    expect(error.retry).toBe('next-channel')
  })

  test.each([
    [400, 400],
    [404, 404],
    [413, 413],
    [422, 422],
    [429, 429],
    [503, 503],
    [529, 503],
    [401, 502],
    [402, 502],
    [403, 502],
    [500, 502],
    [504, 502],
  ])('of a %i is in a stream what a %i is in front of one', (status, told) => {
    expect(faultError(decodeFault(status, '{"error":{"message":"m"}}')).status).toBe(told)
  })

  test("does not retry what is the request's own fault", () => {
    expect(faultError(decodeFault(400, '{"error":{"message":"bad"}}')).retry).toBe('never')
  })
})
