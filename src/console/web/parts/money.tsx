import { exactMoney, placesOf, shortMoney, signedMoney } from '../format/money.ts'
import { useCurrency } from '../session.tsx'

interface MoneyProps {
  amount: string
  style?: 'exact' | 'short' | 'signed'
  /** How many decimals there is room for, as in a column; not for `short`. */
  places?: number
}

/** An amount as people read it; its title has every digit. */
export function Money({ amount, style = 'exact', places = 0 }: MoneyProps) {
  const currency = useCurrency()
  const text = { exact: exactMoney, short: shortMoney, signed: signedMoney }[style](amount, currency)
  const room = '0'.repeat(Math.max(0, places - placesOf(amount)))
  return (
    <span class="number" title={`${amount} ${currency}`} data-room={room === '' ? undefined : room}>
      {text}
    </span>
  )
}
