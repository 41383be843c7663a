import { describe, expect, test } from 'bun:test'
import type { ReachedModel } from '@/console/api/contract/models.ts'
import { shellWord, snippetModel, snippets } from '@/console/web/stream/snippets.ts'

const MODEL = 'openai/gpt-5.1'
const FACTS = {
  apiUrl: 'https://api.example.com/',
  key: 'sk-abcdefgh12345678',
  models: [model(MODEL, ['chat', 'responses', 'messages', 'gemini'], { input: '1' })],
}

describe('snippets', () => {
  test('are there for every client that the console promises', () => {
    expect(snippets(FACTS).map(({ name }) => name)).toEqual([
      'curl',
      'OpenAI SDK',
      'Anthropic SDK',
      'Google SDK',
      'Codex',
      'Claude Code',
      'Gemini CLI',
    ])
  })

  test('each names the gateway, the key and the model', () => {
    for (const { text } of snippets(FACTS)) {
      expect(text).toContain('https://api.example.com')
      expect(text).not.toContain('https://api.example.com//')
      expect(text).toContain(FACTS.key)
      expect(text).toContain(MODEL)
    }
  })

  test('curl sends JSON whatever the model is called', async () => {
    const [curl] = snippets({ ...FACTS, models: [model(`it's "odd" $HOME`, ['chat'], { input: '1' })] })
    const script = `curl() { printf '%s' "\${@: -1}"; }\n${curl?.text}`
    const output = await Bun.$`bash -c ${script}`.text()
    expect(JSON.parse(output)).toMatchObject({ model: `it's "odd" $HOME`, stream: true })
  })

  test('the Codex one is TOML', () => {
    const codex = snippets(FACTS).find(({ id }) => id === 'codex')
    expect(Bun.TOML.parse(codex?.text ?? '')).toMatchObject({
      model: 'openai/gpt-5.1',
      model_providers: { tollgate: { base_url: 'https://api.example.com/v1', wire_api: 'responses' } },
    })
  })

  test('the Gemini CLI one says how to sign in, which the CLI does not guess where the base address is set', () => {
    const gemini = snippets(FACTS).find(({ id }) => id === 'gemini-cli')
    const [settings = ''] = /\{.*\}/.exec(gemini?.text ?? '') ?? []
    expect(JSON.parse(settings)).toEqual({ security: { auth: { selectedType: 'gemini-api-key' } } })
  })
})

describe('the model of snippets', () => {
  const models = [
    model('acme/embed', ['embeddings'], { input: '1' }),
    model('acme/soon', ['chat'], null),
    model('acme/echo', ['chat', 'messages'], { input: '1' }),
    model('acme/other', ['chat'], { input: '1' }),
  ]

  test('can be asked: it is offered where the client calls, and has a price', () => {
    expect(snippetModel(models, 'chat')).toBe('acme/echo')
  })

  test('is one that the key reaches', () => {
    expect(snippetModel(models, 'chat', ['acme/embed', 'acme/other'])).toBe('acme/other')
  })

  test('is one for each client, of those that are offered where it calls', () => {
    const offered = [
      model('acme/claude', ['messages'], { input: '1' }),
      model('acme/gemini', ['gemini'], { input: '1' }),
      model('acme/hidden', ['chat', 'responses'], { input: '1' }),
    ]
    const asked = snippets({ ...FACTS, models: offered, only: ['acme/claude', 'acme/gemini'] }).map(
      ({ id, text }) => [id, /acme\/\w+|MODEL(?!=)/.exec(text)?.[0]],
    )
    expect(Object.fromEntries(asked)).toEqual({
      curl: 'MODEL',
      openai: 'MODEL',
      anthropic: 'acme/claude',
      google: 'acme/gemini',
      codex: 'MODEL',
      'claude-code': 'acme/claude',
      'gemini-cli': 'acme/gemini',
    })
  })

  test('is to be put in by hand where there is none', () => {
    expect(snippetModel(models, 'chat', ['acme/embed', 'acme/soon'])).toBe('MODEL')
  })
})

describe('a word to the shell', () => {
  test.each(['plain', "it's", '$HOME `id` "x"', 'a b\nc', '', '-n', 'sk-Aa0/=:@'])(
    'stays what it is: %j',
    async word => {
      expect(await Bun.$`bash -c ${`printf '%s' ${shellWord(word)}`}`.text()).toBe(word)
    },
  )
})

function model(id: string, surfaces: ReachedModel['surfaces'], prices: ReachedModel['prices']): ReachedModel {
  return {
    id,
    aliases: [],
    display_name: id,
    owned_by: 'acme',
    surfaces,
    context_tokens: null,
    max_output_tokens: null,
    prices,
    price_version: null,
  }
}
