import { parseMoney } from '@/pricing/money.ts'
import { invalid } from '../failure.ts'

/**
 * An amount that somebody typed, in nano.
 * @throws ConsoleError for what is none, or not above 0
 */
export function readAmount(text: string, field = 'amount'): bigint {
  const amountNano = parseMoney(text)
  if (amountNano !== undefined && amountNano > 0n) return amountNano
  throw invalid(field, 'This is no amount above 0, as in 5.00')
}
