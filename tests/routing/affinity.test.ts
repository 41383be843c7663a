import { describe, expect, test } from 'bun:test'
import { candidatesOf, channelOf, routeOf } from '#tests/support/channels.ts'
import { least, msOf } from '#tests/support/least.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import { AFFINITY_MS, Affinity, conversationName } from '@/routing/affinity.ts'
import type { Standing } from '@/routing/health/breaker.ts'
import { destinationOf, orderCandidates } from '@/routing/order.ts'

const CHAT = 'openai-chat-completions'

function nameOf(
  body: JsonObject,
  more: { format?: Format; headers?: Record<string, string>; accountId?: number; model?: string } = {},
): string | undefined {
  const { format = CHAT, headers = {}, accountId = 1, model = 'gpt' } = more
  return conversationName({ accountId, model, format, headers: new Headers(headers), body })
}

/** The body of a turn, in each format: all turns of a conversation begin alike. */
const BODIES: Record<Format, (system: string, texts: readonly string[]) => JsonObject> = {
  'openai-chat-completions': (system, texts) => ({
    messages: [
      { role: 'system', content: system },
      ...alternating(texts, 'assistant', content => ({ content })),
    ],
  }),
  'openai-responses': (system, texts) => ({
    instructions: system,
    input: alternating(texts, 'assistant', text => ({ content: [{ type: 'input_text', text }] })),
  }),
  'anthropic-messages': (system, texts) => ({
    system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
    messages: alternating(texts, 'assistant', content => ({ content })),
  }),
  'gemini-generate-content': (system, texts) => ({
    systemInstruction: { parts: [{ text: system }] },
    contents: alternating(texts, 'model', text => ({ parts: [{ text }] })),
  }),
}

function alternating(
  texts: readonly string[],
  model: string,
  content: (text: string) => JsonObject,
): JsonObject[] {
  return texts.map((text, index) => ({ role: index % 2 === 0 ? 'user' : model, ...content(text) }))
}

/** The texts of a conversation up to a turn of the user's. */
function textsOf(conversation: number, turn: number): string[] {
  return Array.from({ length: 2 * turn + 1 }, (_, index) => `conversation ${conversation}, text ${index}`)
}

const FORMATS = Object.keys(BODIES) as Format[]

describe.each(FORMATS)('the name of a conversation in %s', format => {
  const bodyOf = BODIES[format]

  test('is the same for all its turns', () => {
    const names = [0, 1, 5, 9].map(turn => nameOf(bodyOf('be kind', textsOf(1, turn)), { format }))
    expect(new Set(names).size).toBe(1)
    expect(names[0]).toBeDefined()
  })

  test('differs by the first turn, the system text, the model and the account', () => {
    const names = [
      nameOf(bodyOf('be kind', textsOf(1, 0)), { format }),
      nameOf(bodyOf('be kind', textsOf(2, 0)), { format }),
      nameOf(bodyOf('be brief', textsOf(1, 0)), { format }),
      nameOf(bodyOf('be kind', textsOf(1, 0)), { format, model: 'other' }),
      nameOf(bodyOf('be kind', textsOf(1, 0)), { format, accountId: 2 }),
    ]
    expect(new Set(names).size).toBe(names.length)
  })

  test('long beginnings that differ at one end only are two', () => {
    const filler = 'x'.repeat(100_000)
    const names = [`a${filler}`, `b${filler}`, `${filler}a`, `${filler}b`, filler].map(text =>
      nameOf(bodyOf('be kind', [text]), { format }),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  test('is undefined where there is nothing to go by', () => {
    expect(nameOf({}, { format })).toBeUndefined()
  })

  test.each([
    ['nothing of the expected kind', { messages: 7, input: 7, system: 7, contents: 7 }],
    ['nulls', { messages: [null], input: [null], system: null, contents: [null] }],
    [
      'nulls deeper',
      {
        messages: [{ role: 'user', content: [null, { text: null }] }],
        input: [{ role: 'user', content: [null, { text: null }] }],
        contents: [{ parts: [null, { text: null }] }],
      },
    ],
    [
      'a message without content',
      { messages: [{ role: 'user' }], input: [{}], contents: [{ role: 'user' }] },
    ],
  ])('survives %s', (_, body: JsonObject) => {
    expect(nameOf(body, { format })).toBeUndefined()
  })

  test('survives a body nested without end', () => {
    let content: JsonObject = { text: 'deep' }
    for (let depth = 0; depth < 100_000; depth += 1) content = { content: [content] }
    expect(() =>
      nameOf(
        {
          messages: [{ role: 'user', content: [content] }],
          contents: [{ parts: [content] }],
          input: [content],
        },
        { format },
      ),
    ).not.toThrow()
  })
})

describe('what tells a conversation', () => {
  const body = BODIES[CHAT]('be kind', textsOf(1, 0))

  test('prompt_cache_key before a session before the beginning', () => {
    const session = { headers: { 'session-id': 's' } }
    const names = [nameOf(body), nameOf(body, session), nameOf({ ...body, prompt_cache_key: 'k' }, session)]
    expect(new Set(names).size).toBe(3)
    expect(nameOf({ prompt_cache_key: 'k' })).toBe(names[2])
  })

  test.each(['session-id', 'x-claude-code-session-id', 'x-session-id'])('the header %s', header => {
    const other = BODIES[CHAT]('another', ['another'])
    expect(nameOf(body, { headers: { [header]: 's' } })).toBe(nameOf(other, { headers: { [header]: 's' } }))
    expect(nameOf(body, { headers: { [header]: 's' } })).not.toBe(
      nameOf(body, { headers: { [header]: 't' } }),
    )
  })

  test('is not to be read from its name', () => {
    expect(nameOf(body, { headers: { 'session-id': 'private' } })).not.toContain('private')
  })

  test('not the cache marks, nor whether a text is a part', () => {
    const user = (content: JsonObject['content']) => nameOf({ messages: [{ role: 'user', content }] })
    const part = { type: 'text', text: 'hello' }
    expect(user([{ ...part, cache_control: { type: 'ephemeral', ttl: '1h' } }])).toBe(user([part]))
    expect(user([{ ...part, prompt_cache_breakpoint: { mode: 'explicit' } }])).toBe(user([part]))
    expect(user('hello')).toBe(user([part]))
  })

  test("not Claude Code's billing block, which changes", () => {
    const withBlock = (version: string) =>
      nameOf(
        {
          system: [
            { type: 'text', text: `x-anthropic-billing-header: cc_version=${version}` },
            { type: 'text', text: 'be kind' },
          ],
          messages: [{ role: 'user', content: 'hello' }],
        },
        { format: 'anthropic-messages' },
      )
    expect(withBlock('1')).toBe(withBlock('2'))
  })

  test('the user, behind however many system texts', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({ role: 'system', content: `rule ${index}` }))
    const asked = (content: string) => nameOf({ messages: [...many, { role: 'user', content }] })
    expect(asked('one')).not.toBe(asked('two'))
  })

  test('media by what they are', () => {
    const image = (url: string) =>
      nameOf({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })
    expect(image('data:image/png;base64,AAAA')).not.toBe(image('data:image/png;base64,AAAB'))
  })

  test("OpenAI's stored conversation, whatever is said in it", () => {
    const said = (conversation: string | JsonObject, input: string) =>
      nameOf({ conversation, input }, { format: 'openai-responses' })
    expect(said('conv_1', 'one')).toBe(said({ id: 'conv_1' }, 'two'))
    expect(said('conv_1', 'one')).not.toBe(said('conv_2', 'one'))
  })
})

/** A deployment that sends conversations to the channels that are there. */
function deployment() {
  const clock = manualClock()
  let affinity = new Affinity(clock)
  const paused = new Set<number>()
  const standing = (id: number): Standing =>
    paused.has(id) ? { kind: 'paused', until: clock.elapsed() + 1 } : { kind: 'ready' }
  return {
    clock,
    /** Takes a channel out, or puts it back. */
    pause: (id: number, isPaused: boolean) => (isPaused ? paused.add(id) : paused.delete(id)),
    restart: () => {
      affinity = new Affinity(clock)
    },
    serve(conversation: number, turn: number, channels: readonly number[]): number {
      const name = nameOf(BODIES[CHAT]('be kind', textsOf(conversation, turn))) ?? ''
      const candidates = channels.flatMap(id => candidatesOf([routeOf(channelOf(id))], standing(id)))
      const options = { format: CHAT, seed: name, preferred: affinity.of(name) } as const
      const [chosen] = orderCandidates(candidates, options, clock.elapsed()).ready
      if (chosen === undefined) throw new Error('nothing is ready')
      affinity.served(name, destinationOf(chosen))
      return chosen.route.channel.id
    },
  }
}

const CONVERSATIONS = 200
const TURNS = 10

type Served = ReturnType<typeof deployment>['serve']

/** Runs all conversations, turn by turn; tells where each turn of each went. */
function run(
  serve: Served,
  channelsAt: (turn: number) => readonly number[],
  before?: (turn: number) => void,
) {
  const went = Array.from({ length: CONVERSATIONS }, (): number[] => [])
  for (let turn = 0; turn < TURNS; turn += 1) {
    before?.(turn)
    for (const [conversation, turns] of went.entries())
      turns.push(serve(conversation, turn, channelsAt(turn)))
  }
  return went
}

/** The share of later turns that went where the conversation's first did. */
function stayed(went: readonly (readonly number[])[]): number {
  const later = went.flatMap(([first, ...turns]) => turns.map(turn => turn === first))
  return later.filter(Boolean).length / later.length
}

describe('200 conversations of 10 turns', () => {
  const three = [1, 2, 3]

  test('stay where they began, and each of three channels has its share', () => {
    const went = run(deployment().serve, () => three)
    expect(stayed(went)).toBe(1)
    for (const id of three) {
      const share = went.filter(([first]) => first === id).length / CONVERSATIONS
      expect(Math.abs(share - 1 / 3)).toBeLessThan(0.1)
    }
  })

  test('stay when a channel joins half way: none that began before moves', () => {
    const went = run(deployment().serve, turn => (turn < 5 ? three : [...three, 4]))
    expect(stayed(went)).toBe(1)
  })

  test('stay when a channel leaves half way, but for its own, which move once', () => {
    const went = run(deployment().serve, turn => (turn < 5 ? three : [1, 2]))
    const others = went.filter(([first]) => first !== 3)
    expect(stayed(others)).toBe(1)
    for (const turns of went) expect(new Set(turns.slice(5)).size).toBe(1)
  })

  test('stay where a failover brought them when the first channel is back', () => {
    const { serve, pause } = deployment()
    const went = run(
      serve,
      () => three,
      turn => pause(3, turn === 4),
    )
    for (const turns of went) {
      expect(turns.slice(4).every(id => id === turns[4])).toBe(true)
      if (turns[0] !== 3) expect(turns[4]).toBe(turns[0])
    }
  })

  test('stay when every turn is served by a process that remembers nothing', () => {
    const { serve, restart } = deployment()
    expect(stayed(run(serve, () => three, restart))).toBe(1)
  })

  test('without memory a channel that joins takes its share and no more', () => {
    const { serve, restart } = deployment()
    const went = run(serve, turn => (turn < 5 ? three : [...three, 4]), restart)
    const moved = went.filter(turns => turns[9] !== turns[0])
    for (const turns of moved) expect(turns[9]).toBe(4)
    expect(Math.abs(moved.length / CONVERSATIONS - 0.25)).toBeLessThan(0.1)
  })
})

describe('affinity', () => {
  const place = { channelId: 1, keyId: 100 }

  test('are forgotten when the caches are, and not when the clock of the machine is set', () => {
    const clock = manualClock()
    const affinity = new Affinity(clock)
    affinity.served('one', place)
    clock.set(2 * AFFINITY_MS)
    clock.advance(AFFINITY_MS)
    expect(affinity.of('one')).toEqual(place)
    clock.advance(1)
    expect(affinity.of('one')).toBeUndefined()
  })

  test('are 50,000 at the most, the longest unused going first', () => {
    const affinity = new Affinity(manualClock())
    for (let each = 0; each < 50_000; each += 1) affinity.served(String(each), place)
    for (const name of ['0', 'new']) affinity.served(name, place)
    expect(['0', '1', '2', 'new'].map(name => affinity.of(name))).toEqual([place, undefined, place, place])
  })
})

test('a name costs little, however long the conversation', async () => {
  const body = BODIES['anthropic-messages']('rule '.repeat(20_000), textsOf(1, 200))
  const name = () => {
    for (let count = 0; count < 1000; count += 1) nameOf(body, { format: 'anthropic-messages' })
  }
  expect(await least(1000, () => msOf(name))).toBeLessThan(1000)
})
