/** What is known of an upstream's complaint (a codec's decodeFault and the head of the answer). */
export interface Complaint {
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

/** OpenRouter's 402 of what this request might cost: a smaller one it would serve. */
export function isTooDear({ status, message }: Complaint): boolean {
  return status === 402 && TOO_DEAR.test(message)
}

const TOO_DEAR = /\bfewer max_tokens\b.{0,80}\bcan only afford [1-9]/is

/**
 * Our credentials are refused. So a 403 does, but for one about the content, or about a model that the caller named
 * elsewhere than in `model`, as in a tool.
 */
export function refusesCredentials(complaint: Complaint): boolean {
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
export function isAboutConnector({ status, message }: Complaint): boolean {
  return (status === 401 || status === 403 || status === 424) && CONNECTOR.test(message)
}

const CONNECTOR = /^error retrieving tool list from MCP server\b/i

/**
 * A model that the key may not use or the vendor does not know, in the words of OpenAI, Anthropic (`model: NAME`), Google
 * (`models/NAME is not found`) and those that follow them.
 */
export function isAboutModel({ status, code, message, param }: Complaint): boolean {
  if (status !== 400 && status !== 403 && status !== 404) return false
  if (MODEL_CODES.has(code)) return !param || param === 'model'
  // OpenAI's, which OpenRouter's callers may have named in `models`.
  if (code === 'model_not_found' && (param === 'model' || status !== 400)) return !param || param === 'model'
  if (status === 400) return MODEL_UNKNOWN.test(message)
  if (status === 404) return MODEL_GONE.test(message)
  return MODEL_FORBIDDEN.some(pattern => pattern.test(message))
}

/** Of Volcengine, Azure, Alibaba, Groq (https://console.groq.com/docs/deprecations), Hugging Face and GitHub. */
const MODEL_CODES: ReadonlySet<string | undefined> = new Set([
  'ModelNotOpen',
  'DeploymentNotFound',
  'AccessDenied.Unpurchased',
  'model_decommissioned',
  'model_permission_blocked_org',
  'model_permission_blocked_project',
  'model_not_supported',
  'unknown_model',
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
  /^your organization must be verified to use the model\b/i,
]

/**
 * What a model does in OpenAI's other format alone (tools beside reasoning from gpt-5.4 on, some models everything), or
 * streams to organizations alone that were verified; and Groq's 400 of a model that called a tool wrongly, or wrote no JSON.
 */
export function isForOtherChannel({ status, code, param, message }: Complaint): boolean {
  if (status === 400 && (code === 'tool_use_failed' || code === 'json_validate_failed')) return true
  if (status === 400 && param === 'reasoning_effort' && TOOLS_BESIDE_REASONING.test(message)) return true
  return (status === 400 || status === 404) && OTHER_CHANNEL.test(message)
}

/** OpenAI's words, and Azure's. */
const OTHER_CHANNEL =
  /^(?:this model is only supported in v1\/responses\b|the \w+ operation does not work with the specified model\b|your organization must be verified to stream\b)/i

const TOOLS_BESIDE_REASONING =
  /^(?:litellm\.\w+: )?(?:\w+Exception - )?function tools with reasoning_effort are not supported for \S+ in \/v1\/chat\/completions/i

/** What an answer could do without, and it is refused to ask for. */
export function refusedWish({
  status,
  param,
  message,
}: Complaint): 'thought-summary' | 'thinking' | undefined {
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
export function isSpent({ code, message, details }: Complaint): boolean {
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
 * money, or at the limit that its owner set, of Groq for one that is shut out, of Gemini for where the gateway is.
 */
function isAboutAccount({ status, code, message }: Complaint): boolean {
  return status === 400 && (ACCOUNT_CODES.has(code) || ACCOUNT_WORDS.test(message))
}

/** Google's, Alibaba's, Groq's. */
const ACCOUNT_CODES: ReadonlySet<string | undefined> = new Set([
  'API_KEY_INVALID',
  'Arrearage',
  'organization_restricted',
])

/** How such a message begins: further on it may repeat what the caller wrote. */
const ACCOUNT_WORDS =
  /^(?:api key (?:not valid|invalid|expired)|incorrect api key provided|your credit balance is too low to access the anthropic api|you have reached your specified (?:workspace )?api usage limits|user location is not supported for the api use)/i

/** Groq's 413 and OpenAI's 429: more than the account may use in a minute, which another account may well. */
export function isAboveMinute({ status, code, message }: Complaint): boolean {
  if (code !== 'rate_limit_exceeded') return false
  return status === 413 || (status === 429 && /^request too large for\b/i.test(message))
}
