import { type Blamed, GatewayError, type Retry } from '@/errors/gateway-error.ts'

/** What is known of an upstream's complaint (a codec's decodeFault and the head of the answer). */
interface Complaint {
  /** The status the vendor names. */
  status: number
  message: string
  code: string | undefined
  param: string | undefined
  retryAfterMs: number | undefined
  /** The prompt is longer than the model's context. */
  contextLength?: boolean
  /** It cannot read the reasoning of earlier turns. */
  foreignReasoning?: boolean
  /** Fields for the caller's own client, in the vendor's words. */
  details?: Readonly<Record<string, unknown>> | undefined
}

/** Statuses that are about the caller's own request and go back as they are; a 403 where it does not refuse our credentials. */
const ABOUT_THE_REQUEST = new Set([400, 403, 404, 405, 406, 409, 410, 413, 414, 415, 416, 422, 431, 451])

/** No quota comes back later than in a day. Clients do as they are told, so a vendor's slip is not passed on. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000

/**
 * Decides whose fault an upstream's complaint is and where another attempt could succeed. The one place where that
 * is known; nobody guesses it later.
 */
export function judge(complaint: Complaint): GatewayError {
  const { status, message } = complaint
  const blames = isAboutModel(complaint) ? 'model' : refusedWish(complaint)
  const retryAfterMs = plausible(complaint.retryAfterMs)
  if (isAboutConnector(complaint)) return rejected(complaint, { status: 424, retry: 'never' })
  if (isAboveMinute(complaint)) return rejected(complaint, { status: 413, retry: 'next-channel' })
  if (isLimit(status, retryAfterMs)) {
    return new GatewayError('upstream_rate_limited', `The upstream's limit is reached: ${message}`, {
      retry: 'next-channel',
      retryAfterMs: retryAfterMs ?? 1000,
      blames: isSpent(complaint) ? 'key' : undefined,
    })
  }
  if (isTooDear(complaint)) {
    return new GatewayError('upstream_rejected', `The upstream's account is short of credit: ${message}`, {
      // A 402 would be about the caller's own.
      status: 502,
      retry: 'next-channel',
    })
  }
  if (refusesCredentials(complaint)) {
    return new GatewayError(
      'upstream_auth',
      `The upstream refused the gateway's own credentials (status ${status}): ${message}`,
      { retry: 'next-channel', blames },
    )
  }
  if (ABOUT_THE_REQUEST.has(status)) {
    return rejected(complaint, {
      status,
      // The caller named a model that we have; that the upstream has not is a matter of the channel, and so are its format
      // and what its model makes of the request.
      retry:
        blames === 'model' || isForOtherFormat(complaint) || isModelsSlip(complaint)
          ? 'next-channel'
          : 'never',
      blames: complaint.foreignReasoning === true ? 'reasoning' : blames,
    })
  }
  if (status === 503 || status === 529) {
    return new GatewayError('upstream_error', `The upstream is overloaded (status ${status}): ${message}`, {
      status: 503,
      retry: 'next-channel',
      retryAfterMs: retryAfterMs ?? 1000,
    })
  }
  return new GatewayError('upstream_error', `The upstream failed (status ${status}): ${message}`, {
    retry: 'next-channel',
    retryAfterMs,
  })
}

/** A complaint about the request, as the caller is told of it. */
function rejected(
  { message, contextLength, code = 'invalid_request', param, details }: Complaint,
  told: { status: number; retry: Retry; blames?: Blamed | undefined },
): GatewayError {
  return new GatewayError('upstream_rejected', message, {
    ...told,
    // The one word by which clients of every vendor know that a shorter prompt would do, and compact theirs.
    code: contextLength === true ? 'context_length_exceeded' : code,
    param,
    details,
  })
}

/**
 * A limit of the moment: Groq's 498 is one of a tier, and of OpenRouter's 402 those that say when to come back:
 * https://console.groq.com/docs/errors, https://openrouter.ai/docs/api/reference/errors-and-debugging
 */
function isLimit(status: number, retryAfterMs: number | undefined): boolean {
  return status === 429 || status === 498 || (status === 402 && retryAfterMs !== undefined)
}

/** OpenRouter's 402 of what this request might cost: a smaller one it would serve. */
function isTooDear({ status, message }: Complaint): boolean {
  return status === 402 && TOO_DEAR.test(message)
}

const TOO_DEAR = /\bfewer max_tokens\b.{0,80}\bcan only afford [1-9]/is

/** A 403 does, but for one about the content, or about a model that the caller named elsewhere than in `model`, as in a tool. */
function refusesCredentials(complaint: Complaint): boolean {
  const { status, code } = complaint
  if (status === 403)
    return !isAboutContent(complaint) && (code !== 'model_not_found' || isAboutModel(complaint))
  return status === 401 || status === 402 || isAboutAccount(complaint)
}

/** Of a 403: what was asked is refused, and not who asks. Else one caller could close a key to all. */
function isAboutContent({ message, contextLength }: Complaint): boolean {
  return contextLength === true || CONTENT_FORBIDDEN.some(pattern => pattern.test(message))
}

const CONTENT_FORBIDDEN = [
  // xAI
  /^content violates usage guidelines\b/i,
  // OpenRouter
  /\brequires moderation\b.{0,80}\byour input was flagged\b/is,
  // Google
  /^you do not have permission to access the file\b/i,
  /^cachedcontent not found\b/i,
]

/** A server of tools that the caller named fails or lets nobody in, and not OpenAI, whatever status that has. */
function isAboutConnector({ status, message }: Complaint): boolean {
  return (status === 401 || status === 403 || status === 424) && CONNECTOR.test(message)
}

const CONNECTOR = /^error retrieving tool list from MCP server\b/i

/** A time that has passed, or is no wait at all, says no more than none. */
function plausible(retryAfterMs = 0): number | undefined {
  return retryAfterMs > 0 ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : undefined
}

/**
 * A model that the key may not use or the vendor does not know, in the words of OpenAI (`model_not_found`), Volcengine
 * (`ModelNotOpen`), Azure (`DeploymentNotFound`), Anthropic (`model: NAME`), Google (`models/NAME is not found`) and those that follow them.
 */
function isAboutModel({ status, code, message, param }: Complaint): boolean {
  if (status === 400) return (code === 'model_not_found' && param === 'model') || MODEL_UNKNOWN.test(message)
  if (status !== 403 && status !== 404) return false
  if (MODEL_CODES.has(code)) return !param || param === 'model'
  if (status === 404) return MODEL_GONE.test(message)
  return MODEL_FORBIDDEN.some(pattern => pattern.test(message))
}

const MODEL_CODES: ReadonlySet<string | undefined> = new Set([
  'model_not_found',
  'ModelNotOpen',
  'DeploymentNotFound',
])

/** The 400 of xAI, Mistral, DeepSeek, SiliconFlow, Z.ai, Voyage, Amazon and LiteLLM, which could be about anything else. */
const MODEL_UNKNOWN =
  /^(?:(?:model not found|invalid model): \S+$|model not exist$|model does not exist\. please check it carefully|unknown model, please check the model code|model \S+ is not supported\. supported models are |the provided model identifier is invalid\.?$|(?:400: \{'error': ')?\/[\w/]+: invalid model name passed in model=)/i

/** How a 404 about a model begins, behind the names that LiteLLM gives it: further on it may repeat what the caller wrote, as the id of a file. */
const MODEL_GONE =
  /^(?:(?:(?:litellm|openai)\.(?:exceptions\.)?)?NotFoundError: |\w+Exception (?:NotFoundError )?- )*(?:model: \S+$|not found the model \S+ or permission denied|(?:(?:the|this|requested|specified|publisher) )*models?\b\S*(?: or endpoint)?(?: \S+)?(?: \w+){0,2} (?:not (?:found|exist|available|supported|enabled)|no access)\b)/i

/** Anywhere in a 403, which would else be about the key, and close it for every model. */
const MODEL_FORBIDDEN = [
  /\bmodels?\b.{0,200}\b(?:not (?:found|exist|available|supported|enabled)|no access|not have access)\b/is,
  /\b(?:no|not have) access to\b.{0,40}\bmodels?\b/is,
]

/** What a model does in OpenAI's other format alone: tools beside reasoning from gpt-5.4 on, some models everything. */
function isForOtherFormat({ status, param, message }: Complaint): boolean {
  if (status === 400 && param === 'reasoning_effort' && TOOLS_BESIDE_REASONING.test(message)) return true
  return (status === 400 || status === 404) && OTHER_FORMAT.test(message)
}

/** Groq's 400 of a model that called a tool wrongly, or wrote no JSON: https://console.groq.com/docs/errors */
function isModelsSlip({ status, code }: Complaint): boolean {
  return status === 400 && (code === 'tool_use_failed' || code === 'json_validate_failed')
}

/** OpenAI's words, and Azure's. */
const OTHER_FORMAT =
  /^(?:this model is only supported in v1\/responses\b|the \w+ operation does not work with the specified model\b)/i

const TOOLS_BESIDE_REASONING =
  /^(?:litellm\.\w+: )?(?:\w+Exception - )?function tools with reasoning_effort are not supported for \S+ in \/v1\/chat\/completions/i

/** What an answer could do without, and it is refused to ask for. */
function refusedWish({ status, param, message }: Complaint): 'thought-summary' | 'thinking' | undefined {
  if (status !== 400) return undefined
  if (param === 'reasoning.summary' && UNVERIFIED.test(message)) return 'thought-summary'
  return UNTHINKING.test(message) ? 'thinking' : undefined
}

/** OpenAI's words for who asks for summaries of thoughts and is not verified: https://github.com/home-assistant/core/issues/160212 */
const UNVERIFIED = /\borganization must be verified to generate reasoning summaries\b/i

/**
 * How Ollama, OpenAI (at Azure under any name), xAI and Groq say that a model does not think, behind the names that LiteLLM
 * gives it: https://github.com/anomalyco/opencode/issues/12113
 */
const UNTHINKING =
  /^(?:litellm\.\w+: )?(?:\w+Exception - )?(?:"[^"]*" does not support thinking$|unrecognized request argument supplied: reasoning_effort\b|(?:unsupported parameter: )?['`]?reasoning(?:_effort|\.effort)['`]? is not supported with this model|model \S+ does not support parameter reasoningEffort\b)/i

/** The 429 of a key whose credit is gone: no wait helps, and each try costs one. */
function isSpent({ code, message, details }: Complaint): boolean {
  if (details?.['error_code'] === 'enforced_spend_limit_reached') return true
  return (SPENT.has(code) && !ALIBABAS_MINUTE.test(message)) || SPENT_TEAM.test(message)
}

/**
 * OpenAI's words for that (https://help.openai.com/en/articles/6614457-troubleshooting-api-usage-and-spend-limits), Moonshot's
 * and Z.ai's number. Anthropic's is among its details: https://platform.claude.com/docs/en/api/rate-limits
 */
const SPENT: ReadonlySet<string | undefined> = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
  'billing_hard_limit_reached',
  'exceeded_current_quota_error',
  '1113',
])

/**
 * Alibaba says so in OpenAI's words that a model has had its tokens of this minute:
 * https://www.alibabacloud.com/help/en/model-studio/rate-limit, https://github.com/can1357/oh-my-pi/issues/8496
 */
const ALIBABAS_MINUTE =
  /^allocated quota exceeded\b|\bcheck your plan and billing details\. for details, see:/i

/** xAI's, which has no word for it. */
const SPENT_TEAM = /^your team (?:\S+ )?has either used all available credits\b/i

/**
 * A 400 in place of a 401 or 402: of Gemini and xAI for a bad key, of Anthropic and Alibaba for an account without
 * money, or at the limit that its owner set.
 */
function isAboutAccount({ status, code, message }: Complaint): boolean {
  return status === 400 && (code === 'API_KEY_INVALID' || code === 'Arrearage' || ACCOUNT_WORDS.test(message))
}

/** How such a message begins: further on it may repeat what the caller wrote. */
const ACCOUNT_WORDS =
  /^(?:api key (?:not valid|invalid|expired)|incorrect api key provided|your credit balance is too low to access the anthropic api|you have reached your specified (?:workspace )?api usage limits)/i

/** Groq's 413 and OpenAI's 429: more than the account may use in a minute, which another account may well. */
function isAboveMinute({ status, code, message }: Complaint): boolean {
  if (code !== 'rate_limit_exceeded') return false
  return status === 413 || (status === 429 && /^request too large for\b/i.test(message))
}

/** Retry-After and its kin as ms: seconds, an HTTP date, or OpenAI's `retry-after-ms`; undefined when absent. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const exact = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(exact) && exact >= 0) return exact
  const value = headers.get('retry-after')
  if (value === null) return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
