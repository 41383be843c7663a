// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how the file names a variable
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Known } from '@/config/checks.ts'
import { ConfigFileError, configFileOf, parseConfigFile, readConfigFile } from '@/config/file.ts'
import { type Environment, SettingsError } from '@/config/settings.ts'
import { readYaml } from '@/config/yaml.ts'

const NOTHING = { channels: new Set<string>() }
const CHANNEL = '{ name: main, format: openai-responses, base_url: https://api.example.com }'

function parse(text: string, env: Environment = {}, known: Known = NOTHING) {
  return parseConfigFile(text, { name: 'tollgate.yaml', env, known })
}

function refusal(text: string, env: Environment = {}): readonly string[] {
  try {
    parse(text, env)
  } catch (error) {
    if (error instanceof ConfigFileError) return error.lines
    throw error
  }
  return []
}

const WHOLE = `
channels:
  - name: openai-main
    format: openai-responses
    base_url: https://api.openai.com/
    api_keys: ["\${OPENAI_API_KEY}", "sk-\${SUFFIX}"]
    priority: 2
    weight: 3
    headers: { x-team: gateway }
    timeouts: { connect_ms: 1, first_byte_ms: 2 }
    max_concurrent: 200
    function_tools_only: true
    think_tags: closing
    allow_private: true
  - { name: demo, format: anthropic-messages, base_url: "simulator:", cache_prompts: true }
  - { name: own, format: openai-chat-completions, base_url: "http://10.0.0.7:8000", reasoning_field: reasoning }
models:
  - id: gpt-5.1
    aliases: [gpt-latest]
    display_name: GPT 5.1
    owned_by: openai
    channels:
      - { channel: openai-main, model: gpt-5.1-2025-11-13, priority: 1, weight: 2 }
      - { channel: demo }
    surfaces: [chat, responses]
    enabled_by_default: false
    context_tokens: 400000
    max_output_tokens: 128000
    prices:
      input: 1.250
      cached_input: "0.125"
      output: 1e1
      per_request: 0
      per_image: { "1024x1024": 0.04, default: .04 }
      tiers: [{ above_input_tokens: 200000, input: 2.5 }]
limits:
  account: { requests_per_minute: 600 }
trial_credit: 1.000000001
currency: EUR
`

test('a whole file is read, with defaults where it says nothing', () => {
  const file = parse(WHOLE, { OPENAI_API_KEY: 'sk-one', SUFFIX: 'two' })
  expect(file.channels).toEqual([
    {
      name: 'openai-main',
      format: 'openai-responses',
      baseUrl: 'https://api.openai.com',
      apiKeys: ['sk-one', 'sk-two'],
      priority: 2,
      weight: 3,
      headers: { 'x-team': 'gateway' },
      timeouts: { connectMs: 1, firstByteMs: 2 },
      maxConcurrent: 200,
      functionToolsOnly: true,
      cachePrompts: false,
      thinkTags: 'closing',
      reasoningField: undefined,
      allowPrivate: true,
    },
    {
      name: 'demo',
      format: 'anthropic-messages',
      baseUrl: 'simulator:',
      apiKeys: [],
      priority: 0,
      weight: 1,
      headers: {},
      timeouts: {},
      maxConcurrent: undefined,
      functionToolsOnly: false,
      cachePrompts: true,
      thinkTags: undefined,
      reasoningField: undefined,
      allowPrivate: false,
    },
    {
      name: 'own',
      format: 'openai-chat-completions',
      baseUrl: 'http://10.0.0.7:8000',
      apiKeys: [],
      priority: 0,
      weight: 1,
      headers: {},
      timeouts: {},
      maxConcurrent: undefined,
      functionToolsOnly: false,
      cachePrompts: false,
      thinkTags: undefined,
      reasoningField: 'reasoning',
      allowPrivate: true,
    },
  ])
  expect(file.models).toEqual([
    {
      id: 'gpt-5.1',
      aliases: ['gpt-latest'],
      displayName: 'GPT 5.1',
      ownedBy: 'openai',
      routes: [
        { channel: 'openai-main', upstreamModel: 'gpt-5.1-2025-11-13', priority: 1, weight: 2 },
        { channel: 'demo', upstreamModel: 'gpt-5.1', priority: 0, weight: 1 },
      ],
      surfaces: ['chat', 'responses'],
      enabledByDefault: false,
      contextTokens: 400_000,
      maxOutputTokens: 128_000,
      prices: {
        input: '1.25',
        cached_input: '0.125',
        output: '10',
        per_request: '0',
        per_image: { '1024x1024': '0.04', default: '0.04' },
        tiers: [{ above_input_tokens: 200_000, input: '2.5' }],
      },
    },
  ])
  expect(file.limits.account).toEqual({
    requestsPerMinute: 600,
    tokensPerMinute: undefined,
    concurrentRequests: undefined,
  })
  expect([file.limits.key, file.trialCredit, file.currency]).toEqual([undefined, '1.000000001', 'EUR'])
})

test('an empty file declares nothing', () => {
  expect(parse('# nothing yet\n')).toMatchObject({ channels: [], models: [], trialCredit: undefined })
})

test('a model may use a channel that the database already has', () => {
  const text = 'models:\n  - { id: m, channels: [{ channel: older }] }\n'
  expect(parse(text, {}, { channels: new Set(['older']) }).models[0]?.routes[0]?.channel).toBe('older')
})

test('a name that the database has belongs to its model, unless the file says that model anew', () => {
  const models =
    '- { id: latest, channels: [{ channel: main }] }\n- { id: b, aliases: [b2, older], channels: [{ channel: main }] }'
  const modelNames = new Map([
    ['older', 'older'],
    ['latest', 'older'],
  ])
  const known = { channels: new Set(['main']), modelNames }
  expect(() => parse(`models:\n${models}`, {}, known)).toThrow(
    'tollgate.yaml:2: models[0].id: "latest" is already a name of model "older" in the database\n' +
      'tollgate.yaml:3: models[1].aliases[1]: "older" is already a name of model "older" in the database',
  )
  const anew = `models:\n${models.replace(', older', '')}\n- { id: older, channels: [{ channel: main }] }`
  expect(parse(anew, {}, known).models).toHaveLength(3)
})

test('an anchor stands for its value', () => {
  const text = `
models:
  - { id: a, channels: &routes [{ channel: main, model: x }] }
  - { id: b, channels: *routes }
channels: [${CHANNEL}]
`
  expect(parse(text).models.map(model => model.routes[0]?.upstreamModel)).toEqual(['x', 'x'])
})

test('a file may be of any length, and say the same in many places', () => {
  const text = `long: [${'1,'.repeat(200_000)} &one 1]\nmany: [${'*one,'.repeat(1_000)}]\n`
  const { issues, value } = readYaml(text, text => ({ text }))
  expect(issues).toEqual([])
  expect(value).toMatchObject({ many: Array(1_000).fill(1) })
}, 60_000)

test('a file that multiplies itself through aliases is refused, in one line', () => {
  const layer = (name: string, below: string) =>
    `${name}: &${name} [${Array(10).fill(`*${below}`).join(', ')}]\n`
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const layers = names.slice(1).map((name, index) => layer(name, names[index] ?? ''))
  const { issues } = readYaml(`a: &a [1]\n${layers.join('')}`, text => ({ text }))
  expect(issues.map(({ message }) => message)).toEqual(['is repeated too often by aliases'])
})

test('a price keeps every digit that a float would lose', () => {
  const text = `channels: [${CHANNEL}]\nmodels: [{ id: m, channels: [{ channel: main }], prices: { per_request: 654321.123456789012 } }]`
  expect(parse(text).models[0]?.prices).toEqual({ per_request: '654321.123456789012' })
})

describe('one line per error, with line number and path', () => {
  const channels = `channels: [${CHANNEL}]\n`
  const model = (more: string) =>
    `${channels}models:\n  - id: m\n    channels: [{ channel: main }]\n    ${more}\n`
  const channel = (more: string) =>
    `channels:\n  - name: a\n    format: openai-responses\n    base_url: https://x.example\n    ${more}\n`

  test.each<[string, string, string]>([
    [
      'unknown key',
      'chanels: []',
      '1: chanels: is not known here; known are channels, models, limits, fetch_media, operator_headers, trial_credit, currency, console',
    ],
    [
      'unknown key inside',
      channel('api_key: x'),
      '5: channels[0].api_key: is not known here; known are name, format, base_url, api_keys, priority, weight, headers, timeouts, max_concurrent, function_tools_only, think_tags, reasoning_field, cache_prompts, allow_private',
    ],
    [
      'a setting of another format',
      channel('cache_prompts: true'),
      '5: channels[0].cache_prompts: is for channels of anthropic-messages',
    ],
    [
      'a setting of Chat Completions alone',
      channel('reasoning_field: reasoning'),
      '5: channels[0].reasoning_field: is for channels of openai-chat-completions',
    ],
    [
      'unknown price',
      model('prices:\n      inputs: 1'),
      '6: models[0].prices.inputs: is not known here; known are input, cached_input, cache_write_5m, cache_write_1h, output, reasoning, input_audio, output_audio, per_request, per_image, per_video_second, per_audio_second, per_million_characters, tiers, service_tiers, changes',
    ],
    ['not a mapping', '- a', '1: the file must be a mapping, but is a list'],
    [
      'bad type',
      channel('priority: high'),
      '5: channels[0].priority: must be a whole number from -1000000 to 1000000, but is "high"',
    ],
    [
      'fraction',
      channel('weight: 0.5'),
      '5: channels[0].weight: must be a whole number from 0 to 1000000, but is "0.5"',
    ],
    ['empty', 'channels:', '1: channels: must be a list, but is empty'],
    ['not a list', 'channels: { a: b }', '1: channels: must be a list, but is a mapping'],
    [
      'missing',
      'channels:\n  - name: a\n    base_url: https://x.example',
      '2: channels[0].format: is missing',
    ],
    [
      'format',
      channel('').replace('openai-responses', 'openai'),
      '3: channels[0].format: must be one of openai-chat-completions, openai-responses, anthropic-messages, gemini-generate-content, but is "openai"',
    ],
    [
      'surface',
      model('surfaces: [chat, voice]'),
      '5: models[0].surfaces[1]: must be one of chat, responses, messages, gemini, embeddings, images, videos, audio, but is "voice"',
    ],
    ['surface twice', model('surfaces: [chat, chat]'), '5: models[0].surfaces[1]: "chat" is already there'],
    [
      'base_url scheme',
      channel('').replace('https://x.example', 'x.example'),
      '4: channels[0].base_url: must be an http:// or https:// address, or "simulator:"',
    ],
    [
      'base_url password',
      channel('').replace('https://x.example', 'https://u:hunter2@x.example'),
      '4: channels[0].base_url: must not hold a user or a password: use api_keys',
    ],
    [
      'base_url query',
      channel('').replace('x.example', 'x.example/?a=b'),
      '4: channels[0].base_url: must not hold a query or a fragment',
    ],
    [
      'header of the connection',
      channel('headers: { Host: x }'),
      '5: channels[0].headers.Host: belongs to the connection and cannot be set',
    ],
    [
      'header twice',
      channel('headers: { x-a: x, X-A: y }'),
      '5: channels[0].headers.X-A: the header x-a is already there',
    ],
    [
      'header with a line break',
      channel('headers: { x-a: "x\\ny" }'),
      '5: channels[0].headers.x-a: must be a text of printable ASCII',
    ],
    [
      'key twice',
      channel('api_keys: [hunter2, hunter2]'),
      '5: channels[0].api_keys[1]: is the same key as one before',
    ],
    [
      'a key as a shell would read it',
      channel('api_keys: [$NOPE, sk-$NOPE]'),
      '5: channels[0].api_keys[0]: is the name of a variable and no key: write ${NAME} to read one',
    ],
    [
      'a number that quotes make a text',
      channel('priority: "5"'),
      '5: channels[0].priority: must be a whole number from -1000000 to 1000000, but is "5": without quotes',
    ],
    [
      'missing variable',
      channel('api_keys: ["${NOPE}"]'),
      '5: channels[0].api_keys[0]: reads the environment variable NOPE, which is not set',
    ],
    [
      'empty variable',
      channel('api_keys: ["${EMPTY}"]'),
      '5: channels[0].api_keys[0]: reads the environment variable EMPTY, which is not set',
    ],
    [
      'half a variable',
      channel('headers: { x-a: "${NOPE" }'),
      '5: channels[0].headers.x-a: holds "${" without a variable: write ${NAME}, or $${ for the plain characters',
    ],
    [
      'channel twice',
      `channels:\n  - ${CHANNEL}\n  - ${CHANNEL}`,
      '3: channels[1].name: a channel named "main" is already there',
    ],
    [
      'model twice',
      `${channels}models:\n  - { id: m, channels: [{ channel: main }] }\n  - { id: m, channels: [{ channel: main }] }`,
      '4: models[1].id: a model named "m" is already there',
    ],
    [
      'alias is a model',
      model('aliases: [x, m]'),
      '5: models[0].aliases[1]: a model named "m" is already there',
    ],
    [
      'no such channel',
      'models:\n  - id: m\n    channels:\n      - { channel: nowhere }',
      '4: models[0].channels[0].channel: there is no channel named "nowhere"',
    ],
    [
      'a name that YAML reads as a number',
      `${channels}models:\n  - { id: 5, channels: [{ channel: main }] }`,
      '3: models[0].id: must be a name of 1 to 200 characters without spaces, not . or .., but is "5": it needs quotes',
    ],
    [
      'a name that no path of an address can have',
      `${channels}models:\n  - { id: .., channels: [{ channel: main }] }`,
      '3: models[0].id: must be a name of 1 to 200 characters without spaces, not . or .., but is ".."',
    ],
    [
      'no channels',
      'models:\n  - id: m\n    channels: []',
      '3: models[0].channels: must be a list of at least one channel, but is an empty list',
    ],
    [
      'route twice',
      `${channels}models:\n  - id: m\n    channels:\n      - { channel: main }\n      - { channel: main, model: m }`,
      '6: models[0].channels[1]: is the same channel and model as one before',
    ],
    [
      'negative price',
      model('prices: { input: -1 }'),
      '5: models[0].prices.input: must be a decimal number of 0 or more, but is "-1"',
    ],
    [
      'price in words',
      model('prices: { input: free }'),
      '5: models[0].prices.input: must be a decimal number of 0 or more, but is "free"',
    ],
    [
      'price too fine',
      model('prices: { input: 0.0000001 }'),
      '5: models[0].prices.input: must have at most 6 decimal places, but is "0.0000001"',
    ],
    [
      'price too large',
      model('prices: { input: 100000000.000001 }'),
      '5: models[0].prices.input: must be at most 100000000, but is "100000000.000001"',
    ],
    [
      'price of a tier too large',
      model('prices: { tiers: [{ above_input_tokens: 1, output: 1e9 }] }'),
      '5: models[0].prices.tiers[0].output: must be at most 100000000, but is "1e9"',
    ],
    [
      'tier without a price',
      model('prices: { tiers: [{ above_input_tokens: 1 }] }'),
      '5: models[0].prices.tiers[0]: must have at least one price',
    ],
    [
      'service tier',
      model('prices: { service_tiers: { turbo: { input: 1 } } }'),
      '5: models[0].prices.service_tiers.turbo: is not known here; known are priority, flex, fast, ultrafast',
    ],
    [
      'price of a service tier',
      model('prices: { service_tiers: { flex: { inputs: 1 } } }'),
      '5: models[0].prices.service_tiers.flex.inputs: is not known here; known are input, cached_input, cache_write_5m, cache_write_1h, output, reasoning, input_audio, output_audio, tiers',
    ],
    [
      'price of a service tier too large',
      model('prices: { service_tiers: { flex: { input: 1e9 } } }'),
      '5: models[0].prices.service_tiers.flex.input: must be at most 100000000, but is "1e9"',
    ],
    [
      'long prompts of a service tier twice',
      model(
        'prices: { service_tiers: { flex: { tiers: [{ above_input_tokens: 5, input: 1 }, { above_input_tokens: 5, input: 1 }] } } }',
      ),
      '5: models[0].prices.service_tiers.flex.tiers[1].above_input_tokens: a tier above 5 tokens is already there',
    ],
    [
      'no service tier',
      model('prices: { service_tiers: {} }'),
      '5: models[0].prices.service_tiers: must be a mapping of at least one service tier to its prices, but is an empty mapping',
    ],
    [
      'service tier without a price',
      model('prices: { service_tiers: { flex: {} } }'),
      '5: models[0].prices.service_tiers.flex: must be a mapping with at least one price, but is an empty mapping',
    ],
    [
      'no size',
      model('prices: { per_image: {} }'),
      '5: models[0].prices.per_image: must be a mapping of at least one size to its price, but is an empty mapping',
    ],
    [
      'no surface',
      model('surfaces: []'),
      '5: models[0].surfaces: must be a list of at least one surface, but is an empty list',
    ],
    [
      'price of a request too large',
      model('prices: { per_request: 1000001 }'),
      '5: models[0].prices.per_request: must be at most 1000000, but is "1000001"',
    ],
    [
      'price of an image too large',
      model('prices: { per_image: { default: 2e6 } }'),
      '5: models[0].prices.per_image.default: must be at most 1000000, but is "2e6"',
    ],
    [
      'price of a second too large',
      model('prices: { per_audio_second: 20000.01 }'),
      '5: models[0].prices.per_audio_second: must be at most 20000, but is "20000.01"',
    ],
    [
      'size price',
      model('prices: { per_image: { 1024x1024: x } }'),
      '5: models[0].prices.per_image["1024x1024"]: must be a decimal number of 0 or more, but is "x"',
    ],
    [
      'tier twice',
      model(
        'prices:\n      tiers:\n        - { above_input_tokens: 5, input: 1 }\n        - { above_input_tokens: 5, input: 1 }',
      ),
      '8: models[0].prices.tiers[1].above_input_tokens: a tier above 5 tokens is already there',
    ],
    [
      'change on no day',
      model('prices: { input: 1, changes: [{ from: 2026-02-30, input: 2 }] }'),
      '5: models[0].prices.changes[0].from: is "2026-02-30" but must be a day, as in 2026-12-01',
    ],
    [
      'change without a day',
      model('prices: { input: 1, changes: [{ input: 2 }] }'),
      '5: models[0].prices.changes[0].from: is missing',
    ],
    [
      'price of a change',
      model('prices: { input: 1, changes: [{ from: 2026-12-01, input: dear }] }'),
      '5: models[0].prices.changes[0].input: must be a decimal number of 0 or more, but is "dear"',
    ],
    [
      'two changes of one day',
      model('prices: { changes: [{ from: 2026-12-01 }, { from: 2026-12-01 }] }'),
      '5: models[0].prices.changes[1].from: a change from 2026-12-01 on is already there',
    ],
    [
      'limit',
      'limits: { key: { requests_per_minute: 0 } }',
      '1: limits.key.requests_per_minute: must be a whole number from 1 to 2147483647, but is "0"',
    ],
    [
      'what to do without Redis',
      'limits: { on_redis_down: ignore }',
      '1: limits.on_redis_down: must be one of share, open, closed, but is "ignore"',
    ],
    ['credit', 'trial_credit: -1', '1: trial_credit: must be a decimal number of 0 or more, but is "-1"'],
    ['currency', 'currency: euro', '1: currency: must be a currency code of three capitals, but is "euro"'],
    ['key given twice', 'currency: USD\ncurrency: EUR', '2: currency: is given twice'],
    [
      'not YAML',
      'a: [',
      '1: the file is not YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    [
      'two documents',
      'currency: USD\n---\ncurrency: EUR',
      '2: the file holds more than one document: leave out the line ---',
    ],
    ['key that is a list', '? [a]\n: b', '1: the file has a key that is no plain word'],
    [
      'blank title',
      model('owned_by: " "'),
      '5: models[0].owned_by: must be a text of 1 to 200 characters on one line, but is " "',
    ],
    [
      'title that nobody sees',
      model('display_name: "\\u3164"'),
      '5: models[0].display_name: must be a text of 1 to 200 characters on one line, but is "\u3164"',
    ],
    [
      'name that nobody sees',
      'channels: [{ name: "\\u3164", format: openai-responses, base_url: "simulator:" }]',
      '1: channels[0].name: must be a name of 1 to 200 characters without spaces, not . or .., but is "\u3164"',
    ],
    [
      'address with a line break',
      'channels: [{ name: a, format: openai-responses, base_url: "https://x.example\\n" }]',
      '1: channels[0].base_url: must be an http:// or https:// address, or "simulator:"',
    ],
    ['contains itself', 'channels: &a [*a]', ''],
  ])('%s', (_, text, expected) => {
    const lines = refusal(text, { EMPTY: '' })
    expect(lines).not.toBeEmpty()
    if (expected !== '') expect(lines).toEqual([`tollgate.yaml:${expected}`])
  })

  test('all of them at once, in order of lines', () => {
    const text = `
channels:
  - { name: a, format: openai-responses, base_url: https://x.example, colour: red }
  - { name: a, format: openai-responses, base_url: "https://\${HOST_OF_B}" }
models:
  - { id: m, channels: [{ channel: b }], context_tokens: "many" }
`
    expect(
      refusal(text).map(line =>
        line.replace(/(is not known here|must be|: a channel|: there|: reads).*/, ''),
      ),
    ).toEqual([
      'tollgate.yaml:3: channels[0].colour: ',
      'tollgate.yaml:4: channels[1].base_url',
      'tollgate.yaml:4: channels[1].name',
      'tollgate.yaml:6: models[0].context_tokens: ',
      'tollgate.yaml:6: models[0].channels[0].channel',
    ])
  })

  test('no line shows what a variable held', () => {
    const text = channel('api_keys: ["${KEY}"]\n    max_concurrent: "${KEY}"').replace(
      'https://x.example',
      '${KEY}',
    )
    const lines = refusal(text, { KEY: 'hunter2' })
    expect(lines).toHaveLength(2)
    expect(lines.join('\n')).not.toContain('hunter2')
  })
})

describe('of a file that is broken', () => {
  test.each([
    [
      'a tab',
      'channels:\n\t- name: a\n\t  format: b',
      '2: the file is not YAML: Tabs are not allowed as indentation',
    ],
    [
      'a line too far to the right',
      'channels:\n  - name: a\n      format: b\n    weight: 1',
      '2: the file is not YAML: this line or the next is not indented as those around it',
    ],
  ])('one line tells what is wrong, and not what follows from it: %s', (_, text, expected) => {
    expect(refusal(text)).toEqual([`tollgate.yaml:${expected}`])
  })

  test.each([
    [
      'a password that begins with *',
      'console: { smtp: { host: a, from: t@example.com, password: *hunter2 } }',
      'quotes',
    ],
    [
      'a password that begins with !',
      'console:\n  smtp: { host: a, from: t@example.com, password: !hunter2 }',
      'quotes',
    ],
    [
      'a password with a comma',
      'console: { smtp: { host: a, from: t@example.com, password: pass,hunter2 } }',
      'known are host',
    ],
    [
      'a password with a backslash',
      'console: { smtp: { host: a, from: t@example.com, password: "\\hunter2" } }',
      'backslash',
    ],
    [
      'a header without a colon',
      `channels: [${CHANNEL.replace(' }', ', headers: { authorization hunter2 } }')}]`,
      'header name',
    ],
    ['a bracket too many', 'channels: [{ api_keys: [a] ]}, hunter2]', 'not YAML'],
    ['a key behind a bracket', 'a: b\n}\n"hunter2"', 'not YAML'],
    ['a block that is none', 'channels:\n  - api_keys: |hunter2', 'not YAML'],
  ])('no line shows a part of a secret: %s', (_, text, expected) => {
    const lines = refusal(text).join('\n')
    expect(lines).toContain(expected)
    expect(lines).not.toContain('unter2')
  })

  test('letters of another encoding are told, and not read as other names', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tollgate-file-'))
    const path = join(directory, 'tollgate.yaml')
    writeFileSync(path, Buffer.from('currency: USD # caf\u00e9', 'latin1'))
    await expect(readConfigFile(path, {}, NOTHING)).rejects.toThrow(`${path}: is not UTF-8`)
    writeFileSync(path, 'currency: USD # caf\u00e9')
    expect((await readConfigFile(path, {}, NOTHING)).currency).toBe('USD')
    rmSync(directory, { recursive: true })
  })
})

describe('variables', () => {
  test('a doubled dollar keeps the plain characters', () => {
    const text = `channels: [{ name: a, format: openai-responses, base_url: https://x.example, api_keys: ["$\${X}$\${"] }]`
    expect(parse(text).channels[0]?.apiKeys).toEqual(['${X}${'])
  })
})

test.each(['/nowhere/tollgate.yaml', '/tmp'])('TOLLGATE_CONFIG=%s, which is no file, is named', path => {
  expect(() => configFileOf({ configFile: path })).toThrow(
    new SettingsError([`TOLLGATE_CONFIG is "${path}" but must be the path of a file that is there`]),
  )
})
