/** What an operation's path asks for; `id` is a job, `model` comes from the path at Google. */
export interface OperationRoute {
  kind: 'operation'
  format: 'openai-chat-completions' | 'gemini-generate-content'
  action: OperationAction
  model: string | undefined
  id: string
}

/** All that can be asked for beside conversations, at both vendors. */
type OperationAction =
  | 'embeddings'
  | 'images'
  | 'image-variation'
  | 'speech'
  | 'transcription'
  | 'video-create'
  | 'video-list'
  | 'video-show'
  | 'video-delete'
  | 'video-content'
  | 'video-remix'
  | 'embed-content'
  | 'batch-embed-contents'
  | 'predict'
  | 'predict-long-running'
  | 'operation'
  | 'file'

const OPENAI: [string, RegExp, OperationAction][] = [
  ['POST', /^\/v1\/embeddings$/, 'embeddings'],
  ['POST', /^\/v1\/images\/(?:generations|edits)$/, 'images'],
  ['POST', /^\/v1\/images\/variations$/, 'image-variation'],
  ['POST', /^\/v1\/audio\/speech$/, 'speech'],
  ['POST', /^\/v1\/audio\/(?:transcriptions|translations)$/, 'transcription'],
  ['POST', /^\/v1\/videos$/, 'video-create'],
  ['GET', /^\/v1\/videos$/, 'video-list'],
  ['GET', /^\/v1\/videos\/([^/]+)$/, 'video-show'],
  ['DELETE', /^\/v1\/videos\/([^/]+)$/, 'video-delete'],
  ['GET', /^\/v1\/videos\/([^/]+)\/content$/, 'video-content'],
  ['POST', /^\/v1\/videos\/([^/]+)\/remix$/, 'video-remix'],
]

const GEMINI_ACTIONS = new Map<string, OperationAction>([
  ['embedContent', 'embed-content'],
  ['batchEmbedContents', 'batch-embed-contents'],
  ['predict', 'predict'],
  ['predictLongRunning', 'predict-long-running'],
])

/** The operation of a decoded path; undefined when it is none. */
export function operationRoute(method: string, path: string): OperationRoute | undefined {
  for (const [wanted, pattern, action] of OPENAI) {
    const match = method === wanted ? pattern.exec(path) : null
    if (match !== null)
      return {
        kind: 'operation',
        format: 'openai-chat-completions',
        action,
        model: undefined,
        id: match[1] ?? '',
      }
  }
  return method === 'GET' ? geminiResult(path) : geminiAction(method, path)
}

function geminiResult(path: string): OperationRoute | undefined {
  const [, operation] = /^\/v1(?:beta|alpha)?\/models\/.+\/operations\/(\w+)$/.exec(path) ?? []
  if (operation !== undefined) return { ...GEMINI, action: 'operation', model: undefined, id: operation }
  const [, file] = /^\/v1(?:beta|alpha)?\/files\/(\w+):download$/.exec(path) ?? []
  return file === undefined ? undefined : { ...GEMINI, action: 'file', model: undefined, id: file }
}

function geminiAction(method: string, path: string): OperationRoute | undefined {
  const [, model, verb = ''] = /^\/v1(?:beta|alpha)?\/models\/(.+):(\w+)$/.exec(path) ?? []
  const action = method === 'POST' ? GEMINI_ACTIONS.get(verb) : undefined
  return action === undefined ? undefined : { ...GEMINI, action, model, id: '' }
}

const GEMINI = { kind: 'operation', format: 'gemini-generate-content' } as const
