import { expect, test } from 'bun:test'
import { channelOf, routeOf } from '#tests/support/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import { asGatewayError } from '@/errors/gateway-error.ts'
import { fetchWhole } from '@/exchange/attempt/attempt.ts'
import { Interruption } from '@/exchange/interruption.ts'
import { passOf } from '@/exchange/pass.ts'

/** What a caller is told of an attempt with this answer. */
async function failureOf(answer: Response, read: () => string) {
  const clock = manualClock()
  const gateway = { client: async () => answer, clock, deadlines: new Deadlines(clock) }
  const sender = { gateway, pass: passOf({ money: 'held' }), interruption: new Interruption() }
  const call = { kind: 'generate', model: 'm', stream: false } as const
  const preparation = { call, body: undefined, headers: {} }
  const candidate = { route: routeOf(channelOf(1)), key: undefined }
  return fetchWhole(sender, { preparation, candidate }, read).then(
    () => undefined,
    (error: unknown) => asGatewayError(error),
  )
}

test('a bug in what reads an answer is ours, and no other channel is asked', async () => {
  const bug = new TypeError("undefined is not an object (evaluating 'choice.message')")
  const failure = await failureOf(new Response('{}'), () => {
    throw bug
  })
  expect(failure).toMatchObject({ kind: 'internal_error', status: 500, retry: 'never', cause: bug })
})

test('a connection that breaks is the fault of the upstream, and another channel may do better', async () => {
  const broken = Object.assign(new TypeError('ECONNRESET'), { code: 'ECONNRESET' })
  const body = new ReadableStream({ start: controller => controller.error(broken) })
  const failure = await failureOf(new Response(body), () => '')
  expect(failure).toMatchObject({ kind: 'upstream_error', status: 502, retry: 'next-channel', cause: broken })
})
