import type { Single } from '@/json/repeats.ts'

/** What decides who is asked, and what that may cost, in the bodies that name their model. */
export const DECISIVE: ReadonlySet<string> = new Set([
  ...['model', 'models', 'fallbacks', 'tools', 'service_tier', 'speed', 'stream', 'stream_format'],
  ...['messages', 'input', 'prompt', 'n', 'size', 'quality', 'seconds', 'image', 'images', 'partial_images'],
  ...['output_format', 'frame_count', 'svg', 'prediction'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
])

/** What decides it for Gemini, whose fields have two spellings each. */
const DECISIVE_FOR_GEMINI = [
  ...['content', 'instances', 'requests', 'serviceTier'],
  ...['maxOutputTokens', 'candidateCount', 'candidate_count', 'numberOfVideos', 'number_of_videos'],
  ...['sampleCount', 'sample_count', 'durationSeconds', 'duration_seconds', 'aspectRatio', 'aspect_ratio'],
  ...['sampleImageSize', 'sample_image_size', 'imageSize', 'image_size'],
]

/** Where the prompt is in a body, in the four formats. No name is one that every object has by nature. */
export const PROMPT_FIELDS = [
  ...['messages', 'input', 'contents'],
  ...['system', 'instructions', 'systemInstruction', 'system_instruction'],
  ...['tools', 'functions'],
  ...['response_format', 'text', 'output_config', 'output_format', 'generationConfig', 'generation_config'],
]

/** Objects with some of these in them. */
const GEMINI_SETTINGS = ['generationConfig', 'generation_config', 'parameters']

/**
 * What a body may say once, so that an upstream reads what was reckoned with. The model is missing, since it is written
 * anew wherever it stands (formats/model-edit.ts).
 */
export const SINGLE: Single = {
  names: new Set(
    [...DECISIVE, ...DECISIVE_FOR_GEMINI, ...PROMPT_FIELDS, ...GEMINI_SETTINGS].filter(
      name => name !== 'model',
    ),
  ),
  holders: new Set(GEMINI_SETTINGS),
}
