import { expect, test } from 'bun:test'
import { systemClock } from '@/clock/clock.ts'
import type { ResponseGateway } from '@/exchange/responses/kept-responses.ts'
import { resolveReferences } from '@/exchange/responses/references.ts'

const ITEM = JSON.stringify({ id: 'msg_1', type: 'message', content: 'x'.repeat(400) })

/** A gateway that has one item, and room for two of it. */
const gateway = {
  clock: systemClock,
  maxBodyBytes: 1_000,
  responses: { store: { items: async () => new Map([['msg_1', ITEM]]) } },
} as unknown as ResponseGateway

const named = (times: number) => Array<string>(times).fill('{"id":"msg_1"}')

test('an item stands wherever it is named', async () => {
  expect(await resolveReferences(gateway, 1, ['{"role":"user"}', ...named(2)], () => undefined)).toEqual([
    '{"role":"user"}',
    ITEM,
    ITEM,
  ])
})

test('and no longer where that comes to more than a body may have', async () => {
  await expect(resolveReferences(gateway, 1, named(3), () => undefined)).rejects.toMatchObject({
    kind: 'body_too_large',
  })
})
