const NAMES: Readonly<Record<string, string>> = {
  input: 'Input',
  input_uncached: 'Input',
  cached_input: 'Input, from cache',
  cache_read: 'Input, from cache',
  cache_write_5m: 'Cache write, 5 min',
  cache_write_1h: 'Cache write, 1 h',
  output: 'Output',
  output_text: 'Output',
  reasoning: 'Reasoning',
  audio_input: 'Audio in',
  input_audio: 'Audio in',
  audio_output: 'Audio out',
  output_audio: 'Audio out',
  per_request: 'Per request',
  per_image: 'Images',
  per_video_second: 'Video, seconds',
  per_audio_second: 'Sound, seconds',
  per_million_characters: 'Speech, characters',
}

/** What was counted, by the names of the API: `per_image 1024x1024` -> `Images, 1024x1024`. */
export function bucketName(bucket: string): string {
  const [name = '', size] = bucket.split(' ')
  const known = NAMES[name] ?? name.replaceAll('_', ' ')
  return size === undefined ? known : `${known}, ${size}`
}

/** Whether its rate is for a million of them: of tokens and of characters. */
export function isPerMillion(bucket: string): boolean {
  return bucket === 'per_million_characters' || !bucket.startsWith('per_')
}
