import type { ReachedModel } from '../../api/contract/models.ts'

type Surface = ReachedModel['surfaces'][number]

/** How to call this gateway from each client, ready to be pasted. */
interface Snippet {
  id: string
  name: string
  /** Where it goes: a shell, or a file of that name. */
  place: string
  text: string
}

interface SnippetFacts {
  /** Where the API host is reached, without a trailing slash. */
  apiUrl: string
  key: string
  models: readonly ReachedModel[]
  /** Those of them that the key reaches; null: all. */
  only?: readonly string[] | null
}

/** The snippets for a key, in the order of their tabs. */
export function snippets({ apiUrl, key, models, only = null }: SnippetFacts): Snippet[] {
  const base = apiUrl.replace(/\/+$/, '')
  const on = (surface: Surface) => snippetModel(models, surface, only)
  const text = (value: string) => JSON.stringify(value)
  const word = shellWord
  return [
    {
      id: 'curl',
      name: 'curl',
      place: 'shell',
      text: `curl -N ${word(`${base}/v1/chat/completions`)} \\
  -H ${word(`Authorization: Bearer ${key}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${word(JSON.stringify({ model: on('chat'), stream: true, messages: [{ role: 'user', content: 'Hello!' }] }))}`,
    },
    {
      id: 'openai',
      name: 'OpenAI SDK',
      place: 'Python',
      text: `from openai import OpenAI

client = OpenAI(base_url=${text(`${base}/v1`)}, api_key=${text(key)})
stream = client.chat.completions.create(
    model=${text(on('chat'))},
    messages=[{"role": "user", "content": "Hello!"}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "" if chunk.choices else "", end="", flush=True)`,
    },
    {
      id: 'anthropic',
      name: 'Anthropic SDK',
      place: 'Python',
      text: `from anthropic import Anthropic

client = Anthropic(base_url=${text(base)}, api_key=${text(key)})
with client.messages.stream(
    model=${text(on('messages'))},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello!"}],
) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)`,
    },
    {
      id: 'google',
      name: 'Google SDK',
      place: 'Python',
      text: `from google import genai
from google.genai import types

client = genai.Client(api_key=${text(key)}, http_options=types.HttpOptions(base_url=${text(base)}))
for chunk in client.models.generate_content_stream(model=${text(on('gemini'))}, contents="Hello!"):
    print(chunk.text or "", end="", flush=True)`,
    },
    {
      id: 'codex',
      name: 'Codex',
      place: '~/.codex/config.toml',
      text: `# then: export TOLLGATE_API_KEY=${word(key)}
model = ${text(on('responses'))}
model_provider = "tollgate"

[model_providers.tollgate]
name = "Tollgate"
base_url = ${text(`${base}/v1`)}
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"`,
    },
    {
      id: 'claude-code',
      name: 'Claude Code',
      place: 'shell',
      text: `export ANTHROPIC_BASE_URL=${word(base)}
export ANTHROPIC_API_KEY=${word(key)}
export ANTHROPIC_MODEL=${word(on('messages'))}
claude`,
    },
    {
      id: 'gemini-cli',
      name: 'Gemini CLI',
      place: 'shell',
      // With another base address the CLI asks how to sign in, and `gemini -p` refuses to start unless a file says it.
      text: `# once, in ~/.gemini/settings.json:
#   {"security": {"auth": {"selectedType": "gemini-api-key"}}}
export GOOGLE_GEMINI_BASE_URL=${word(base)}
export GEMINI_API_KEY=${word(key)}
gemini --model ${word(on('gemini'))}`,
    },
  ]
}

/**
 * The model that a client asks which speaks to a surface: the first that is offered there, has a price, and is one of
 * `only`; null: of all. `MODEL` where there is none.
 */
export function snippetModel(
  models: readonly ReachedModel[],
  surface: Surface,
  only: readonly string[] | null = null,
): string {
  const found = models.find(
    ({ id, prices, surfaces }) =>
      prices !== null && surfaces.includes(surface) && (only === null || only.includes(id)),
  )
  return found?.id ?? 'MODEL'
}

/** One word to a POSIX shell, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
