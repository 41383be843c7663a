import { systemClock } from '@/clock/clock.ts'
import { type ExchangeRecord, openRecord } from '@/exchange/record.ts'
import { callerBy } from './caller.ts'

/** The record of an exchange that is over. */
export function endedRecord(id: string, known: Partial<ExchangeRecord> = {}): ExchangeRecord {
  return { ...openRecord(id, 'chat', systemClock), caller: callerBy(1, 2), ...known }
}
