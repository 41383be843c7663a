import { describe, expect, test } from 'bun:test'
import { GatewayError } from '@/errors/gateway-error.ts'
import { Interruption, interruptionBy } from '@/exchange/interruption.ts'

const broke = new GatewayError('credit_exhausted', 'No money')

describe('whoever works for an exchange', () => {
  test('hears in the same turn that it is given up, once, and for the first reason', () => {
    const caller = new AbortController()
    const interruption = interruptionBy(caller.signal)
    const heard: GatewayError[] = []
    interruption.listen(reason => heard.push(reason))
    interruption.interrupt(broke)
    caller.abort()
    expect(heard).toEqual([broke])
  })

  test('hears it at once when it begins too late', () => {
    const interruption = new Interruption()
    interruption.interrupt(broke)
    const heard: GatewayError[] = []
    interruption.listen(reason => heard.push(reason))
    expect(heard).toEqual([broke])
  })

  test('hears nothing when its work is over, and one who ends it is no obstacle to the others', () => {
    const interruption = new Interruption()
    const heard: string[] = []
    const over = () => heard.push('over')
    const ending = () => {
      heard.push('ending')
      interruption.unlisten(ending)
    }
    interruption.listen(over)
    interruption.listen(ending)
    interruption.listen(() => heard.push('other'))
    interruption.unlisten(over)
    interruption.interrupt(broke)
    expect(heard).toEqual(['ending', 'other'])
  })
})

describe('a caller who leaves', () => {
  test.each([
    [
      'by itself',
      undefined,
      { kind: 'client_closed', message: 'The caller left before the end of the answer' },
    ],
    ['for an error of ours', broke, { kind: 'credit_exhausted', message: 'No money' }],
  ])('%s is the reason', (_, reason, told) => {
    const caller = new AbortController()
    const heard: GatewayError[] = []
    interruptionBy(caller.signal).listen(given => heard.push(given))
    expect(heard).toEqual([])
    caller.abort(reason)
    expect(heard).toMatchObject([told])
  })

  test('before anything began is heard all the same', () => {
    const heard: GatewayError[] = []
    interruptionBy(AbortSignal.abort()).listen(given => heard.push(given))
    expect(heard).toMatchObject([{ kind: 'client_closed' }])
  })
})
