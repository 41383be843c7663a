import { afterAll, describe, expect, test } from 'bun:test'
import { asObject, asString, type JsonObject } from '@/json/json.ts'
import { FIELDS, type Field, PLAIN } from './loss-fields.ts'
import { startRig, textOf } from './rig.ts'
import { SIDES, type Side } from './talk.ts'

const rig = await startRig()
afterAll(() => rig.close())

/** What became of one request. */
interface Outcome {
  status: number
  losses: string[]
  /** The error's `code` or `reason`, and its message. */
  code: string | undefined
  message: string
  /** The upstream's request, byte for byte; undefined when none was sent. */
  sent: string | undefined
}

/**
 * Every field of a request arrives, or is done in the upstream's stead, or is reported, or is refused: what the
 * upstream got is compared with what it gets without the field, so that nothing is dropped in silence.
 */
for (const caller of SIDES) {
  for (const upstream of SIDES.filter(side => side !== caller)) {
    describe(`called as ${caller}, served by ${upstream}`, () => {
      const named = FIELDS[caller].map(field => [titleOf(field), field] as const)
      test.each(named)('%s', async (_, field) => {
        const plain = await post(caller, upstream, { ...PLAIN[caller], ...field.needs }, false)
        const body = { ...PLAIN[caller], ...field.needs, ...field.set }
        const lenient = await post(caller, upstream, body, false)
        const strict = await post(caller, upstream, body, true)
        if (lenient.status === 400) {
          expect(REFUSALS).toContain(lenient.code ?? '')
          expect(lenient.sent).toBeUndefined()
          return
        }
        expect(lenient.status, lenient.message).toBe(200)
        const lost = lenient.losses.filter(loss => !plain.losses.includes(loss))
        if (lost.length === 0) {
          if (field.emulated?.includes(upstream) !== true) expect(lenient.sent).not.toBe(plain.sent)
          if (plain.losses.length === 0) expect(strict.status).toBe(200)
          return
        }
        expect(lost).toEqual([field.name])
        expect(strict).toMatchObject({ status: 400, code: 'unsupported_parameter', sent: undefined })
        expect(strict.message).toContain(field.name)
      })
    })
  }
}

/** Codes of a refusal that says what is wrong instead of leaving it out. */
const REFUSALS = ['unsupported_parameter', 'previous_response_not_found']

function titleOf({ set }: Field): string {
  return JSON.stringify(set).slice(0, 100)
}

async function post(caller: Side, upstream: Side, body: JsonObject, strict: boolean): Promise<Outcome> {
  rig.forget()
  const model = `${upstream}/echo`
  const response = await fetch(new URL(pathOf(caller, model), rig.gateway.url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${rig.gateway.key}`,
      'anthropic-version': '2023-06-01',
      ...(strict ? { 'x-tollgate-strict': 'true' } : {}),
    },
    body: JSON.stringify(caller === 'gemini' ? body : { model, ...body }),
  })
  const error = asObject(asObject(await response.json())?.['error'])
  const [sent] = rig.recordings()
  return {
    status: response.status,
    losses: response.headers.get('x-tollgate-losses')?.split(', ') ?? [],
    code: codeOf(error),
    message: asString(error?.['message']) ?? '',
    sent: sent && textOf(sent),
  }
}

function pathOf(caller: Side, model: string): string {
  const paths = {
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    messages: '/v1/messages',
    gemini: `/v1beta/models/${model}:generateContent`,
  }
  return paths[caller]
}

function codeOf(error: JsonObject | undefined): string | undefined {
  const details = error?.['details']
  return (
    asString(error?.['code']) ??
    (Array.isArray(details) ? asString(asObject(details[0])?.['reason']) : undefined)
  )
}
