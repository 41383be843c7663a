import { afterAll, describe, expect, test } from 'bun:test'
import { HISTORIES } from './histories.ts'
import { startRig, textOf } from './rig.ts'
import { SIDES, type Side } from './talk.ts'

const rig = await startRig()
afterAll(() => rig.close())

/**
 * A conversation that a caller's own vendor takes is taken by every upstream: what the other vendor would refuse is
 * said in another way, or is refused by the gateway itself, in words that name what cannot be said.
 */
for (const caller of SIDES) {
  for (const upstream of SIDES.filter(side => side !== caller)) {
    describe(`called as ${caller}, served by ${upstream}`, () => {
      const models = upstream === 'gemini' ? ['echo', 'gemini-3-pro/echo'] : ['echo']
      const cases = models.flatMap(model =>
        Object.entries(HISTORIES[caller]).map(([name, body]) => ({ name, model, body })),
      )
      test.each(cases)('$name ($model)', async ({ model, body }) => {
        rig.forget()
        const response = await post(caller, `${upstream}/${model}`, body)
        const text = await response.text()
        const [sent] = rig.recordings()
        if (response.status === 400 && sent === undefined) {
          expect(text).toMatch(/unsupported_parameter|invalid_request/)
          return
        }
        expect(response.status, `${text}\nsent: ${sent === undefined ? 'nothing' : textOf(sent)}`).toBe(200)
      })
    })
  }
}

function post(caller: Side, model: string, body: object): Promise<Response> {
  const path = {
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    messages: '/v1/messages',
    gemini: `/v1beta/models/${model}:generateContent`,
  }
  return fetch(new URL(path[caller], rig.gateway.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${rig.gateway.key}`, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(caller === 'gemini' ? body : { model, ...body }),
  })
}
