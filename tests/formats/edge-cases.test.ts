import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'

/** The edge cases that the four formats and their vendors are known for, by their numbers. */
const EDGES = [
  'multi-byte character split across reads at every byte position',
  'CRLF, LF and lone CR line ends, split between CR and LF',
  'comment lines between and inside events',
  'several data lines in one event',
  'data: without the space, and with two',
  'event without its empty line at the end',
  'BOM at the start',
  'U+2028, U+2029 and U+0085 inside JSON text',
  'an event of more than 1 MiB, and ten thousand reads of a byte',
  'id, retry, unknown fields, an event name without data',
  'event: error and event: message on a Chat stream',
  'compressed upstream stream; wrong content type on SSE',
  'whole JSON where a stream was asked for, and SSE where none was',
  '[DONE] missing, with spaces, followed by data, twice',
  'role-only first chunk; no role chunk; role in every chunk',
  'content null and empty beside tool calls',
  'empty choices first, and as the usage chunk',
  'finish_reason together with content',
  'duplicate finish chunk',
  'usage beside choices, cumulative, before the finish',
  'usage null or absent although asked for',
  'two parallel calls with interleaved arguments',
  'empty arguments, {}, a whole call in one delta, a name in two pieces',
  'tool deltas without index, from 1, with gaps, id repeated or missing',
  'arguments as an object',
  'reasoning_content, reasoning and reasoning_details',
  '<think> split over chunks, unclosed',
  'content as an array of parts',
  'refusal deltas; content_filter with and without text',
  'n = 2 with interleaved indexes',
  'error object first, in the middle, after the finish',
  'legacy function_call deltas',
  'model name changes; id empty at first',
  'connection cut at each stage',
  'sequence numbers from 0',
  'text of done events equals the deltas; empty text',
  'reasoning with nothing but encrypted_content',
  'several summary parts; reasoning between calls',
  'calls before and after a message; two messages',
  'incomplete in the middle of a call',
  'response.failed early; error nested and flat',
  'item ids that change',
  'custom tool input with escapes, split inside of them',
  'custom tool whose arguments are not {"input"}',
  'equal names in two namespaces; a name over 64 characters',
  'tools that join in the middle of the input',
  'input as a string; items without type',
  'function_call_output with images to Chat',
  'orphan outputs and calls without output',
  'previous_response_id, store, background',
  'keepalive and unknown events; obfuscation',
  'ping anywhere',
  'input_json_delta empty, absent, split in an escape, cut',
  'thinking with signature, omitted, redacted, between calls',
  'error event before and after content; 529',
  'message_delta twice; partial usage; null counts',
  'duplicate message_start; one with content',
  'tool_result with is_error, images, empty, absent content',
  'tool results in odd places',
  'system as string, blocks, and inside the messages',
  'version header, Bearer and x-api-key',
  'stop_sequence, pause_turn, refusal, context window',
  'citations; server tools to Chat',
  'max_tokens 0, above the limit, below the budget',
  'cache_control on five blocks; mixed lifetimes',
  'tool ids with characters that Messages refuses',
  'function calls whole, without id, without args, equal names',
  'STOP with a functionCall',
  'thoughtSignature on calls, texts, empty texts',
  'blocked prompt; candidate without content; content without parts',
  'MAX_TOKENS in thoughts; malformed call; unknown and numeric reasons',
  'the JSON array form of a stream',
  'snake_case keys; roles absent and `function`; system as a string',
  'streamed partialArgs',
  'two candidates; no index; usage-only chunk; totals alone',
  'schemas with $ref, unions, const, recursion, nothing',
  'inline images and executed code to Chat',
  'functionResponses out of order; response no object',
  'model paths with slash, colon, tunedModels; key in the query',
  '429 with RetryInfo; bad key as 400; error in an array',
  'impossible usage: cached above prompt, reasoning outside, huge',
  'cache counts of Messages through Chat and back',
  'error bodies of every shape',
  'Retry-After in all its spellings, and none',
  'an upstream 401 because of our key',
  'context length errors of all vendors',
  'hostile request bodies',
  'numbers beyond doubles; lone surrogates',
  'disconnect in each phase; slow reader',
  'the same conversation twice gives the same bytes',
] as const

/** A test or a group whose name begins with `edge N:` or `edge N and M:`. */
const NAMED = /['"`]edge (\d+(?:(?:, | and )\d+)*): /g

async function named(): Promise<Map<number, string[]>> {
  const places = new Map<number, string[]>()
  for await (const file of new Glob('**/*.test.ts').scan('tests')) {
    const source = await Bun.file(`tests/${file}`).text()
    for (const [, numbers = ''] of source.matchAll(NAMED)) {
      for (const number of numbers.split(/, | and /)) {
        places.set(Number(number), [...(places.get(Number(number)) ?? []), file])
      }
    }
  }
  return places
}

describe('the edge cases', async () => {
  const places = await named()

  test('are ninety', () => {
    expect(EDGES).toHaveLength(90)
  })

  test.each(EDGES.map((edge, index) => [index + 1, edge] as const))(
    '%i has a test of its own: %s',
    number => {
      expect(places.get(number) ?? []).not.toEqual([])
    },
  )
})
