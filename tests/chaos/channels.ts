import { FAILURES, fault, startFailureRig } from '#tests/exchange/failure-table.ts'
import { AMPLE_LIMITS, type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import { told } from '#tests/support/told.ts'
import { eventStream, fedStream, scriptedUpstream } from '#tests/support/upstreams/upstream.ts'

/** Each has its share of what a channel may run at once. */
const GATEWAYS = 2
const PLACES = 100
const ABORTED = 10_000

/** `bun run chaos channels`: upstreams that fail, hang and are left, and what callers see of it. */
export async function run(): Promise<boolean> {
  const upstream = startUpstream()
  const fleet = await startFleet({ gateways: GATEWAYS, config: configOf(upstream.url) })
  try {
    const checks = [await failover(fleet), await places(fleet, upstream.holding), await affinity(fleet)]
    const { ok } = await fleet.audit()
    checks.push(
      told(
        `audit ${ok ? 'green' : 'RED'}, ${await fleet.holds()} holds left`,
        ok && (await fleet.holds()) === 0,
      ),
    )
    checks.push(await table())
    return checks.every(Boolean)
  } finally {
    await fleet.close()
    await upstream.stop()
  }
}

const ANSWER =
  'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"NAME"}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}\n\ndata: [DONE]\n\n'

/** One server as several upstreams, told apart by the first segment of the path; each says its name. */
function startUpstream() {
  const holding = { calls: 0, ended: 0 }
  const upstream = scriptedUpstream(({ path, body }, signal) => {
    const name = path.split('/')[1] ?? ''
    if (name === 'flaky' && Math.random() < 0.3)
      return new Response('{"error":{"message":"no"}}', { status: 500 })
    if (name === 'hangs') return new Promise<Response>(() => {})
    if (name !== 'holds') return eventStream(ANSWER.replace('NAME', name))
    holding.calls += 1
    signal.addEventListener('abort', () => {
      holding.ended += 1
    })
    // Every second caller leaves before the head, the others in the middle of the answer.
    if (new TextDecoder().decode(body).includes('early')) return new Promise<Response>(() => {})
    const fed = fedStream()
    fed.write(ANSWER.slice(0, ANSWER.indexOf('\n\n') + 2))
    return eventStream(fed.stream)
  })
  return { ...upstream, holding }
}

function configOf(url: string): string {
  const channel = (name: string, more = '') =>
    `  - { name: ${name}, format: openai-chat-completions, base_url: "${url}/${name}", api_keys: ["upstream-key-${name}"], allow_private: true${more} }`
  const model = (id: string, channels: readonly string[]) =>
    `  - { id: ${id}, channels: [${channels.map(name => `{ channel: ${name}, model: m }`).join(', ')}], prices: { input: 1, output: 2 } }`
  return `channels:
${channel('flaky')}
${channel('hangs', ', timeouts: { first_byte_ms: 500 }')}
${channel('good')}
${channel('alone')}
${channel('holds', `, max_concurrent: ${GATEWAYS * PLACES}`)}
${['one', 'two', 'three'].map(name => channel(name)).join('\n')}
models:
${model('troubled', ['flaky', 'hangs', 'good'])}
${model('calm', ['alone'])}
${model('held', ['holds'])}
${model('talk', ['one', 'two', 'three'])}
limits:
  account: ${AMPLE_LIMITS}
  key: ${AMPLE_LIMITS}
`
}

interface Answer {
  status: number
  text: string
  ms: number
}

async function ask(
  url: string,
  key: string,
  model: string,
  said: string,
  signal?: AbortSignal,
): Promise<Answer> {
  const start = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens: 100,
      messages: [{ role: 'user', content: said }],
    }),
    ...(signal === undefined ? {} : { signal }),
  })
  return { status: response.status, text: await response.text(), ms: performance.now() - start }
}

/** 1,000 requests on three channels, and as many on one that is well, to compare with. */
async function failover(fleet: Fleet): Promise<boolean> {
  const { key } = await fleet.payer(10n ** 12n)
  const url = fleet.gateways[0]?.apiUrl ?? ''
  const troubled: Answer[] = []
  const calm: Answer[] = []
  for (let asked = 0; asked < 1_000; asked += 4) {
    const at = Array.from({ length: 4 }, (_, index) => `number ${asked + index}`)
    troubled.push(...(await Promise.all(at.map(said => ask(url, key, 'troubled', said)))))
    calm.push(...(await Promise.all(at.map(said => ask(url, key, 'calm', said)))))
  }
  const failed = troubled.filter(({ status, text }) => status !== 200 || !text.includes('[DONE]')).length
  const added = median(troubled.slice(100)) - median(calm.slice(100))
  const slow = troubled.filter(({ ms }) => ms >= 500).length
  return told(
    `1,000 requests, three channels, one fails at random 30 %, one hangs: ${failed} failures seen by callers; ` +
      `added p50 ${added.toFixed(2)} ms once the breaker knows; ${slow} met the one that hangs`,
    failed === 0 && added < 5,
  )
}

function median(answers: readonly Answer[]): number {
  return (
    answers.map(({ ms }) => ms).toSorted((one, other) => one - other)[Math.floor(answers.length / 2)] ?? 0
  )
}

/** 10,000 callers who leave at any moment, and how many places there are afterwards. */
async function places(fleet: Fleet, holding: { calls: number; ended: number }): Promise<boolean> {
  const { accountId, key } = await fleet.payer(10n ** 12n)
  await fleet.database.sql`update account set concurrent_requests = ${PLACES} where id = ${accountId}`
  const [gateway] = fleet.gateways
  const url = gateway?.apiUrl ?? ''
  let left = 0
  const leave = async (index: number) => {
    const abort = new AbortController()
    setTimeout(() => abort.abort(), Math.random() * 60)
    const said = index % 2 === 0 ? 'early' : 'late'
    await ask(url, key, 'held', said, abort.signal).catch(() => {
      left += 1
    })
  }
  let begun = 0
  const caller = async () => {
    while (left < ABORTED) {
      begun += 1
      await leave(begun)
    }
  }
  await Promise.all(Array.from({ length: PLACES / 5 }, caller))
  await quiet(() => holding.calls === holding.ended)
  const reached = holding.calls
  // As many as there are places, all at once, and then one more.
  const stay = new AbortController()
  const staying = Array.from({ length: PLACES }, () =>
    ask(url, key, 'held', 'late', stay.signal).catch(() => undefined),
  )
  await quiet(() => holding.calls === reached + PLACES)
  const held = holding.calls - reached
  const more = await ask(url, key, 'held', 'late', AbortSignal.timeout(5_000)).catch(() => undefined)
  const other = await fleet.payer(10n ** 12n)
  const elsewhere = await ask(url, other.key, 'held', 'late', AbortSignal.timeout(5_000)).catch(
    () => undefined,
  )
  stay.abort()
  await Promise.all(staying)
  await quiet(() => holding.calls === holding.ended)
  const open = await metric(gateway?.opsUrl ?? '', 'tollgate_open_exchanges')
  return told(
    `${left} requests aborted by their callers, ${reached} of them once the upstream had them: ${held} of ${PLACES} places free afterwards, ` +
      `then ${more?.status} for the account and ${elsewhere?.status} for the channel; ${open} exchanges left open`,
    reached > ABORTED / 2 &&
      held === PLACES &&
      more?.status === 429 &&
      elsewhere?.status === 503 &&
      open === 0,
  )
}

/** Waits until it is so, for at most ten seconds. */
async function quiet(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!isSo() && performance.now() < deadline) await Bun.sleep(20)
  await Bun.sleep(200)
}

async function metric(opsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** 200 conversations of 10 turns over three channels, their turns on either gateway. */
async function affinity(fleet: Fleet): Promise<boolean> {
  const { key } = await fleet.payer(10n ** 12n)
  const firsts = new Map<string, number>()
  let stayed = 0
  const converse = async (conversation: number) => {
    let first = ''
    for (let turn = 0; turn < 10; turn += 1) {
      const gateway = fleet.gateways[(conversation + turn) % fleet.gateways.length]
      const name = await take(gateway?.apiUrl ?? '', key, conversation, turn)
      if (turn === 0) first = name
      else if (name === first) stayed += 1
    }
    firsts.set(first, (firsts.get(first) ?? 0) + 1)
  }
  for (let from = 0; from < 200; from += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, index) => converse(from + index)))
  }
  const shares = [...firsts.values()].toSorted((one, other) => one - other)
  return told(
    `3 channels, 2 gateways, 200 conversations of 10 turns: ${((100 * stayed) / 1_800).toFixed(1)} % of later turns on the channel of the first; ` +
      `${shares.join(', ')} conversations each`,
    stayed >= 0.99 * 1_800 && shares.length === 3 && (shares[0] ?? 0) > 40,
  )
}

async function take(url: string, key: string, conversation: number, turn: number): Promise<string> {
  const past = Array.from({ length: turn }, (_, index) => [
    { role: 'assistant', content: `answer ${index}` },
    { role: 'user', content: `question ${index + 1}` },
  ]).flat()
  const messages = [{ role: 'user', content: `conversation ${conversation}` }, ...past]
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'talk', stream: true, max_tokens: 100, messages }),
  })
  return /"content":"(\w+)"/.exec(await response.text())?.[1] ?? `status ${response.status}`
}

/** Every class of failure, on one channel and on two. */
async function table(): Promise<boolean> {
  const rig = await startFailureRig()
  const wrong: string[] = []
  console.log(
    '\n| when | what | one channel: caller, requests, nano billed | two channels |\n| --- | --- | --- | --- |',
  )
  for (const failure of FAILURES) {
    const cells: string[] = []
    for (const channels of [1, 2] as const) {
      const observed = await rig.observe(failure, channels)
      cells.push(
        `${observed.caller}; ${observed.asked.slice(0, channels).join(' + ')}; ${observed.billedNano}`,
      )
      const found = fault(failure, channels, observed)
      if (found !== undefined) wrong.push(`${failure.stage}, ${failure.name}, ${channels}: ${found}`)
    }
    console.log(`| ${failure.stage} | ${failure.name} | ${cells.join(' | ')} |`)
  }
  await rig.close()
  for (const line of wrong) console.log(`FAIL ${line}`)
  return told(
    `${2 * FAILURES.length} squares of the table of failures, ${wrong.length} wrong`,
    wrong.length === 0,
  )
}
