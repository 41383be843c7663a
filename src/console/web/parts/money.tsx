import { exactMoney, shortMoney, signedMoney } from '../format/money.ts'
import { useCurrency } from '../session.tsx'

/** An amount as people read it; its title has every digit. */
export function Money({ amount, style = 'exact' }: { amount: string; style?: 'exact' | 'short' | 'signed' }) {
  const currency = useCurrency()
  const text = { exact: exactMoney, short: shortMoney, signed: signedMoney }[style](amount, currency)
  return (
    <span class="number" title={`${amount} ${currency}`}>
      {text}
    </span>
  )
}
