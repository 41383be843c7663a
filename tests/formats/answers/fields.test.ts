import { describe, expect, test } from 'bun:test'
import type {
  BetaMessage,
  BetaRawContentBlockDelta,
  BetaRawMessageDeltaEvent,
  BetaRawMessageStreamEvent,
  BetaRefusalStopDetails,
  BetaServerToolUsage,
  BetaTextBlock,
  BetaTextCitation,
  BetaThinkingBlock,
  BetaToolUseBlock,
  BetaUsage,
} from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type {
  Candidate,
  Citation,
  FunctionCall,
  GenerateContentResponse,
  GenerateContentResponsePromptFeedback,
  GenerateContentResponseUsageMetadata,
  GroundingChunk,
  GroundingMetadata,
  GroundingSupport,
  LogprobsResult,
  Part,
} from '@google/genai'
import type {
  ChatCompletion,
  ChatCompletionAudio,
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionTokenLogprob,
} from 'openai/resources/chat/completions'
import type { CompletionUsage } from 'openai/resources/completions'
import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseOutputText,
  ResponseReasoningItem,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses'
import type { Format } from '@/generation/format.ts'
import { asArray, isJsonObject, type JsonValue } from '@/json/json.ts'
import { CHAT } from './chat-probes.ts'
import { GEMINI } from './gemini-probes.ts'
import { MESSAGES } from './messages-probes.ts'
import type { Probe } from './probe.ts'
import { RESPONSES } from './responses-probes.ts'

/**
 * What becomes of a field or a variant of an answer on its way to a caller of another format. The types of the four SDKs
 * say which there are: a new one is an error of the compiler here.
 */
type Fate =
  /** It is told, or is a loss that has a name: answers.test.ts, whose probes have it, says so. */
  | 'told'
  /** The reply has one of our own in its place, or the caller's request said it. */
  | 'ours'
  /** It frames, numbers or pads the answer, or repeats what is told elsewhere in it. */
  | 'framing'
  /** Callers of the same format alone hear it, as docs/compatibility.md says. */
  | 'unheard'

type Fates<T extends PropertyKey> = Record<T, Fate>
type Keys<T> = keyof { [K in keyof T as T[K] extends (...args: never) => unknown ? never : K]: T[K] }

const CHAT_FATES = [
  {
    id: 'ours',
    choices: 'told',
    created: 'ours',
    model: 'ours',
    object: 'framing',
    metadata: 'ours',
    moderation: 'unheard',
    service_tier: 'told',
    system_fingerprint: 'unheard',
    usage: 'told',
  } satisfies Fates<keyof ChatCompletion>,
  { finish_reason: 'told', index: 'told', logprobs: 'told', message: 'told' } satisfies Fates<
    keyof ChatCompletion.Choice
  >,
  { content: 'told', 'logprobs.refusal': 'unheard' } satisfies Fates<
    Exclude<keyof ChatCompletion.Choice.Logprobs, 'refusal'> | 'logprobs.refusal'
  >,
  { token: 'told', bytes: 'told', logprob: 'told', top_logprobs: 'told' } satisfies Fates<
    keyof ChatCompletionTokenLogprob
  >,
  {
    content: 'told',
    refusal: 'told',
    role: 'framing',
    annotations: 'told',
    audio: 'told',
    function_call: 'framing',
    tool_calls: 'told',
  } satisfies Fates<keyof ChatCompletionMessage>,
  { id: 'ours', data: 'told', expires_at: 'ours', transcript: 'told' } satisfies Fates<
    keyof ChatCompletionAudio
  >,
  { end_index: 'told', start_index: 'told', title: 'told', url: 'told' } satisfies Fates<
    keyof ChatCompletionMessage.Annotation.URLCitation
  >,
  {
    completion_tokens: 'told',
    prompt_tokens: 'told',
    total_tokens: 'told',
    completion_tokens_details: 'told',
    prompt_tokens_details: 'told',
  } satisfies Fates<keyof CompletionUsage>,
  {
    accepted_prediction_tokens: 'unheard',
    audio_tokens: 'told',
    reasoning_tokens: 'told',
    rejected_prediction_tokens: 'unheard',
    text_tokens: 'framing',
  } satisfies Fates<keyof CompletionUsage.CompletionTokensDetails>,
  {
    audio_tokens: 'told',
    cache_write_tokens: 'told',
    cached_tokens: 'told',
    image_tokens: 'unheard',
    text_tokens: 'framing',
  } satisfies Fates<keyof CompletionUsage.PromptTokensDetails>,
  {
    id: 'ours',
    choices: 'told',
    created: 'ours',
    model: 'ours',
    object: 'framing',
    moderation: 'unheard',
    obfuscation: 'framing',
    service_tier: 'told',
    system_fingerprint: 'unheard',
    usage: 'told',
  } satisfies Fates<keyof ChatCompletionChunk>,
  { delta: 'told', index: 'told', finish_reason: 'told', logprobs: 'told' } satisfies Fates<
    keyof ChatCompletionChunk.Choice
  >,
  {
    audio: 'told',
    content: 'told',
    function_call: 'framing',
    refusal: 'told',
    role: 'framing',
    tool_calls: 'told',
  } satisfies Fates<keyof ChatCompletionChunk.Choice.Delta>,
  { index: 'told', id: 'told', custom: 'told', function: 'told', type: 'told' } satisfies Fates<
    keyof ChatCompletionChunk.Choice.Delta.ToolCall
  >,
]

const RESPONSES_FATES = [
  {
    id: 'ours',
    access_programs: 'unheard',
    output_text: 'framing',
    created_at: 'ours',
    error: 'told',
    incomplete_details: 'told',
    instructions: 'ours',
    metadata: 'ours',
    model: 'ours',
    object: 'framing',
    output: 'told',
    parallel_tool_calls: 'ours',
    temperature: 'ours',
    tool_choice: 'ours',
    tools: 'ours',
    top_p: 'ours',
    background: 'ours',
    completed_at: 'ours',
    conversation: 'ours',
    image: 'ours',
    input_transformations: 'unheard',
    max_output_tokens: 'ours',
    max_tool_calls: 'ours',
    moderation: 'unheard',
    previous_response_id: 'ours',
    prompt: 'ours',
    prompt_cache_diagnostics: 'unheard',
    prompt_cache_key: 'ours',
    prompt_cache_options: 'ours',
    prompt_cache_retention: 'ours',
    reasoning: 'ours',
    safety_identifier: 'ours',
    service_tier: 'told',
    status: 'told',
    text: 'ours',
    tool_usage: 'told',
    top_logprobs: 'ours',
    truncation: 'ours',
    usage: 'told',
    user: 'ours',
  } satisfies Fates<keyof Response>,
  {
    message: 'told',
    file_search_call: 'told',
    function_call: 'told',
    function_call_output: 'told',
    web_search_call: 'told',
    computer_call: 'told',
    computer_call_output: 'told',
    reasoning: 'told',
    program: 'told',
    program_output: 'told',
    tool_search_call: 'told',
    tool_search_output: 'told',
    additional_tools: 'told',
    compaction: 'told',
    image_generation_call: 'told',
    code_interpreter_call: 'told',
    local_shell_call: 'told',
    local_shell_call_output: 'told',
    shell_call: 'told',
    shell_call_output: 'told',
    apply_patch_call: 'told',
    apply_patch_call_output: 'told',
    mcp_call: 'told',
    mcp_list_tools: 'told',
    mcp_approval_request: 'told',
    mcp_approval_response: 'told',
    custom_tool_call: 'told',
    custom_tool_call_output: 'told',
  } satisfies Fates<ResponseOutputItem['type']>,
  {
    id: 'ours',
    content: 'told',
    role: 'framing',
    status: 'framing',
    type: 'framing',
    phase: 'told',
  } satisfies Fates<keyof ResponseOutputMessage>,
  { output_text: 'told', refusal: 'told' } satisfies Fates<ResponseOutputMessage['content'][number]['type']>,
  { annotations: 'told', text: 'told', type: 'framing', logprobs: 'told' } satisfies Fates<
    keyof ResponseOutputText
  >,
  {
    file_citation: 'told',
    url_citation: 'told',
    container_file_citation: 'told',
    file_path: 'told',
  } satisfies Fates<ResponseOutputText['annotations'][number]['type']>,
  {
    id: 'told',
    summary: 'told',
    type: 'framing',
    content: 'told',
    encrypted_content: 'told',
    status: 'framing',
  } satisfies Fates<keyof ResponseReasoningItem>,
  {
    id: 'ours',
    arguments: 'told',
    call_id: 'told',
    name: 'told',
    type: 'framing',
    async: 'unheard',
    caller: 'unheard',
    namespace: 'told',
    status: 'framing',
  } satisfies Fates<keyof ResponseFunctionToolCall>,
  {
    id: 'ours',
    result: 'told',
    status: 'framing',
    type: 'framing',
    action: 'unheard',
    background: 'unheard',
    error: 'told',
    output_format: 'told',
    quality: 'unheard',
    revised_prompt: 'unheard',
    size: 'unheard',
    svg_usage: 'unheard',
  } satisfies Fates<keyof ResponseOutputItem.ImageGenerationCall>,
  {
    input_tokens: 'told',
    input_tokens_details: 'told',
    output_tokens: 'told',
    output_tokens_details: 'told',
    total_tokens: 'told',
  } satisfies Fates<keyof ResponseUsage>,
  {
    'response.audio.delta': 'told',
    'response.audio.done': 'framing',
    'response.audio.transcript.delta': 'told',
    'response.audio.transcript.done': 'framing',
    'response.code_interpreter_call_code.delta': 'framing',
    'response.code_interpreter_call_code.done': 'framing',
    'response.code_interpreter_call.completed': 'framing',
    'response.code_interpreter_call.in_progress': 'framing',
    'response.code_interpreter_call.interpreting': 'framing',
    'response.compaction.compacting': 'framing',
    'response.completed': 'told',
    'response.content_part.added': 'told',
    'response.content_part.done': 'framing',
    'response.created': 'told',
    error: 'told',
    'response.file_search_call.completed': 'framing',
    'response.file_search_call.in_progress': 'framing',
    'response.file_search_call.searching': 'framing',
    'response.function_call_arguments.delta': 'told',
    'response.function_call_arguments.done': 'told',
    'response.shell_call_command.added': 'framing',
    'response.shell_call_command.delta': 'framing',
    'response.shell_call_command.done': 'framing',
    'response.shell_call_output_content.delta': 'framing',
    'response.shell_call_output_content.done': 'framing',
    'response.in_progress': 'framing',
    'response.failed': 'told',
    'response.incomplete': 'told',
    'response.output_item.added': 'told',
    'response.output_item.done': 'told',
    'response.reasoning_summary_part.added': 'told',
    'response.reasoning_summary_part.done': 'framing',
    'response.reasoning_summary_text.delta': 'told',
    'response.reasoning_summary_text.done': 'told',
    'response.reasoning_text.delta': 'told',
    'response.reasoning_text.done': 'told',
    'response.refusal.delta': 'told',
    'response.refusal.done': 'told',
    'response.output_text.delta': 'told',
    'response.output_text.done': 'told',
    'response.web_search_call.completed': 'framing',
    'response.web_search_call.in_progress': 'framing',
    'response.web_search_call.searching': 'framing',
    'response.image_generation_call.completed': 'framing',
    'response.image_generation_call.generating': 'framing',
    'response.image_generation_call.in_progress': 'framing',
    'response.image_generation_call.partial_image': 'framing',
    'response.mcp_call_arguments.delta': 'framing',
    'response.mcp_call_arguments.done': 'framing',
    'response.mcp_call.completed': 'framing',
    'response.mcp_call.failed': 'framing',
    'response.mcp_call.in_progress': 'framing',
    'response.mcp_list_tools.completed': 'framing',
    'response.mcp_list_tools.failed': 'framing',
    'response.mcp_list_tools.in_progress': 'framing',
    'response.output_text.annotation.added': 'told',
    'response.queued': 'framing',
    'response.custom_tool_call_input.delta': 'told',
    'response.custom_tool_call_input.done': 'told',
  } satisfies Fates<ResponseStreamEvent['type']>,
]

const MESSAGES_FATES = [
  {
    id: 'ours',
    container: 'unheard',
    content: 'told',
    context_management: 'unheard',
    diagnostics: 'unheard',
    input_transformations: 'unheard',
    model: 'ours',
    role: 'framing',
    stop_details: 'told',
    stop_reason: 'told',
    stop_sequence: 'unheard',
    type: 'framing',
    usage: 'told',
  } satisfies Fates<keyof BetaMessage>,
  {
    text: 'told',
    thinking: 'told',
    redacted_thinking: 'told',
    tool_use: 'told',
    server_tool_use: 'told',
    web_search_tool_result: 'told',
    web_fetch_tool_result: 'told',
    code_execution_tool_result: 'told',
    bash_code_execution_tool_result: 'told',
    text_editor_code_execution_tool_result: 'told',
    tool_search_tool_result: 'told',
    container_upload: 'told',
    advisor_tool_result: 'told',
    mcp_tool_use: 'told',
    mcp_tool_result: 'told',
    mcp_tool_listing: 'told',
    compaction: 'told',
    fallback: 'told',
  } satisfies Fates<BetaMessage['content'][number]['type']>,
  { citations: 'told', text: 'told', type: 'framing' } satisfies Fates<keyof BetaTextBlock>,
  { signature: 'told', thinking: 'told', type: 'framing' } satisfies Fates<keyof BetaThinkingBlock>,
  {
    id: 'told',
    caller: 'unheard',
    input: 'told',
    name: 'told',
    type: 'framing',
    toolset_name: 'unheard',
  } satisfies Fates<keyof BetaToolUseBlock>,
  {
    char_location: 'told',
    page_location: 'told',
    content_block_location: 'told',
    web_search_result_location: 'told',
    search_result_location: 'told',
  } satisfies Fates<BetaTextCitation['type']>,
  {
    cache_creation: 'told',
    cache_creation_input_tokens: 'told',
    cache_read_input_tokens: 'told',
    fallback_credit: 'unheard',
    inference_geo: 'unheard',
    iterations: 'told',
    input_tokens: 'told',
    output_tokens: 'told',
    output_tokens_details: 'told',
    server_tool_use: 'told',
    service_tier: 'told',
    speed: 'unheard',
  } satisfies Fates<keyof BetaUsage>,
  { web_fetch_requests: 'unheard', web_search_requests: 'told' } satisfies Fates<keyof BetaServerToolUsage>,
  {
    category: 'told',
    explanation: 'told',
    type: 'framing',
    fallback_credit_token: 'unheard',
    fallback_has_prefill_claim: 'unheard',
    recommended_model: 'unheard',
  } satisfies Fates<keyof BetaRefusalStopDetails>,
  {
    message_start: 'told',
    message_delta: 'told',
    message_stop: 'told',
    content_block_start: 'told',
    content_block_delta: 'told',
    content_block_stop: 'told',
  } satisfies Fates<BetaRawMessageStreamEvent['type']>,
  {
    container: 'unheard',
    stop_details: 'told',
    stop_reason: 'told',
    stop_sequence: 'unheard',
  } satisfies Fates<keyof BetaRawMessageDeltaEvent.Delta>,
  {
    text_delta: 'told',
    input_json_delta: 'told',
    citations_delta: 'told',
    compaction_delta: 'told',
    thinking_delta: 'told',
    signature_delta: 'told',
  } satisfies Fates<BetaRawContentBlockDelta['type']>,
]

type Getters = 'text' | 'data' | 'functionCalls' | 'executableCode' | 'codeExecutionResult'

const GEMINI_FATES = [
  {
    sdkHttpResponse: 'framing',
    candidates: 'told',
    createTime: 'unheard',
    automaticFunctionCallingHistory: 'framing',
    modelVersion: 'ours',
    promptFeedback: 'told',
    responseId: 'ours',
    usageMetadata: 'told',
    modelStatus: 'unheard',
  } satisfies Fates<Exclude<Keys<GenerateContentResponse>, Getters | 'initialPromptTokenCount'>>,
  {
    content: 'told',
    citationMetadata: 'told',
    finishMessage: 'told',
    tokenCount: 'framing',
    finishReason: 'told',
    groundingMetadata: 'told',
    avgLogprobs: 'unheard',
    index: 'told',
    logprobsResult: 'told',
    safetyRatings: 'unheard',
    urlContextMetadata: 'unheard',
    continuationToken: 'unheard',
  } satisfies Fates<keyof Candidate>,
  {
    mediaResolution: 'framing',
    toolCall: 'told',
    toolResponse: 'told',
    audioTranscription: 'told',
    codeExecutionResult: 'told',
    executableCode: 'told',
    fileData: 'told',
    functionCall: 'told',
    functionResponse: 'told',
    inlineData: 'told',
    text: 'told',
    thought: 'told',
    thoughtSignature: 'told',
    videoMetadata: 'framing',
    partMetadata: 'unheard',
    mediaProcessing: 'framing',
    speechMetadata: 'unheard',
  } satisfies Fates<keyof Part>,
  {
    groundingChunks: 'told',
    groundingSupports: 'told',
    retrievalMetadata: 'unheard',
    searchEntryPoint: 'unheard',
    webSearchQueries: 'unheard',
    googleMapsWidgetContextToken: 'unheard',
    imageSearchQueries: 'unheard',
    retrievalQueries: 'unheard',
    sourceFlaggingUris: 'unheard',
  } satisfies Fates<keyof GroundingMetadata>,
  { maps: 'told', image: 'told', retrievedContext: 'told', web: 'told' } satisfies Fates<
    keyof GroundingChunk
  >,
  {
    confidenceScores: 'unheard',
    groundingChunkIndices: 'told',
    segment: 'told',
    renderedParts: 'framing',
  } satisfies Fates<keyof GroundingSupport>,
  {
    endIndex: 'told',
    license: 'unheard',
    publicationDate: 'unheard',
    startIndex: 'told',
    title: 'told',
    uri: 'told',
  } satisfies Fates<keyof Citation>,
  {
    cacheTokensDetails: 'told',
    cachedContentTokenCount: 'told',
    candidatesTokenCount: 'told',
    candidatesTokensDetails: 'told',
    promptTokenCount: 'told',
    promptTokensDetails: 'told',
    thoughtsTokenCount: 'told',
    toolUsePromptTokenCount: 'told',
    toolUsePromptTokensDetails: 'told',
    totalTokenCount: 'told',
    trafficType: 'unheard',
    initialPromptTokenCount: 'framing',
  } satisfies Fates<Keys<GenerateContentResponseUsageMetadata>>,
  { blockReason: 'told', blockReasonMessage: 'told', safetyRatings: 'unheard' } satisfies Fates<
    Keys<GenerateContentResponsePromptFeedback>
  >,
  { chosenCandidates: 'told', topCandidates: 'told', logProbabilitySum: 'unheard' } satisfies Fates<
    keyof LogprobsResult
  >,
  { args: 'told', id: 'told', name: 'told', partialArgs: 'told', willContinue: 'told' } satisfies Fates<
    keyof FunctionCall
  >,
]

const FATES: Record<Format, { fates: readonly Record<string, Fate>[]; probes: readonly Probe[] }> = {
  'openai-chat-completions': { fates: CHAT_FATES, probes: CHAT },
  'openai-responses': { fates: RESPONSES_FATES, probes: RESPONSES },
  'anthropic-messages': { fates: MESSAGES_FATES, probes: MESSAGES },
  'gemini-generate-content': { fates: GEMINI_FATES, probes: GEMINI },
}

/** What has its probe elsewhere, since no answer that ends well has it, or not both whole and streamed. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'error',
  'response.failed',
  'response.audio.delta',
  'response.audio.transcript.delta',
  'partialArgs',
  'willContinue',
])

const docs = await Bun.file('docs/compatibility.md').text()

describe.each(Object.entries(FATES))('an answer of %s', (_, { fates, probes }) => {
  const entries = fates.flatMap(each => Object.entries(each))
  const of = (fate: Fate) => entries.flatMap(([name, each]) => (each === fate ? [name] : []))

  test('has a probe of everything that others are told', () => {
    const seen = new Set(probes.flatMap(({ whole, stream }) => [whole, ...stream].flatMap(wordsIn)))
    expect(of('told').filter(name => !seen.has(name) && !ELSEWHERE.has(name))).toEqual([])
  })

  test('has nothing that others do not hear without saying so', () => {
    expect(of('unheard').filter(name => !docs.includes(`\`${name}\``))).toEqual([])
  })
})

/** Every key, and every `type`. */
function wordsIn(value: JsonValue): string[] {
  if (Array.isArray(value)) return asArray(value).flatMap(wordsIn)
  if (!isJsonObject(value)) return []
  const { type } = value
  return [
    ...Object.keys(value),
    ...(typeof type === 'string' ? [type] : []),
    ...Object.values(value).flatMap(inner => wordsIn(inner ?? null)),
  ]
}
