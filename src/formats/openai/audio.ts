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

/** Usage of a transcript, whole or in its last event; Whisper says how long the sound was, and no tokens. */
export function readTranscriptUsage(answer: JsonObject): TranscriptUsage | undefined {
  const usage = asObject(answer['usage'])
  const seconds = readSeconds(usage?.['seconds']) ?? readSeconds(answer['duration'])
  const told = toldSides(usage)
  if (told === undefined) {
    return seconds === undefined ? undefined : { tokens: undefined, seconds: Math.ceil(seconds) }
  }
  const { input, output } = told
  const sound = readCount(asObject(usage?.['input_token_details'])?.['audio_tokens']) ?? input
  return {
    tokens: {
      ...NO_USAGE,
      inputUncached: Math.max(0, input - sound),
      audioInput: Math.min(sound, input),
      outputText: output,
    },
    seconds: seconds === undefined ? undefined : Math.ceil(seconds),
  }
}
