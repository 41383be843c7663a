import { NO_USAGE, readCount, readSeconds, type Usage } from '@/generation/usage.ts'
import { asObject, type JsonObject } from '@/json/json.ts'
import { toldSides } from './shared-fields.ts'

/**
 * What OpenAI's audio endpoints say of a transcript's usage: tokens or seconds, by the model; one of them is there.
 * https://platform.openai.com/docs/api-reference/audio
 */
interface TranscriptUsage {
  tokens: Usage | undefined
  /** Of sound; begun ones are counted. */
  seconds: number | undefined
}

/** Tokens of `speech.audio.done`, the only place where speech tells them; its output is sound. */
export function readSpeechUsage(done: JsonObject): Usage | undefined {
  const told = toldSides(asObject(done['usage']))
  return told && { ...NO_USAGE, inputUncached: told.input, audioOutput: told.output }
}

/**
 * Usage of a transcript, whole or in its last event; Whisper says how long the sound was, and no tokens. Mistral has words
 * of its own: https://docs.mistral.ai/api/endpoint/audio/transcriptions
 */
export function readTranscriptUsage(answer: JsonObject): TranscriptUsage | undefined {
  const usage = asObject(answer['usage'])
  const told = [usage?.['seconds'], usage?.['prompt_audio_seconds'], answer['duration']]
  const seconds = told.map(readSeconds).find(each => each !== undefined)
  const tokens = usage && (tokensOf(usage) ?? mistralTokens(usage))
  if (tokens === undefined && seconds === undefined) return undefined
  return { tokens, seconds: seconds === undefined ? undefined : Math.ceil(seconds) }
}

function tokensOf(usage: JsonObject): Usage | undefined {
  const told = toldSides(usage)
  if (told === undefined) return undefined
  const sound = readCount(asObject(usage['input_token_details'])?.['audio_tokens']) ?? told.input
  return transcriptTokens(told.input, sound, told.output)
}

/** Its prompt is what guides the model: the sound stands beside it, in the details and the total, or is not told at all. */
function mistralTokens(usage: JsonObject): Usage | undefined {
  const prompt = readCount(usage['prompt_tokens'])
  const output = readCount(usage['completion_tokens'])
  if (prompt === undefined || output === undefined) return undefined
  const beside = Math.max(0, (readCount(usage['total_tokens']) ?? 0) - prompt - output)
  const sound = readCount(asObject(usage['prompt_tokens_details'])?.['audio_tokens']) ?? beside
  return sound === 0 ? undefined : transcriptTokens(prompt + beside, sound, output)
}

function transcriptTokens(input: number, sound: number, output: number): Usage {
  return {
    ...NO_USAGE,
    inputUncached: Math.max(0, input - sound),
    audioInput: Math.min(sound, input),
    outputText: output,
  }
}
