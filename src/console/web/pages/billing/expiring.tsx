import type { Overview } from '../../../api/contract/usage.ts'
import { Money } from '../../parts/money.tsx'
import { When } from '../../parts/when.tsx'

/** How much of the balance is there only until then. */
export function Expiring({ credit: { amount, expires_at } }: { credit: Overview['expiring'][number] }) {
  return (
    <>
      <Money amount={amount} style="short" /> of it until <When iso={expires_at} />
    </>
  )
}
