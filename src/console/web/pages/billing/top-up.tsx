import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { typedAmount } from '../../format/typed.ts'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { useCurrency } from '../../session.tsx'

/** Credit by card: the browser goes to pay, and comes back. */
export function TopUp() {
  const currency = useCurrency()
  const pay = useForm({ amount: '10.00' }, async typed => {
    const amount = typedAmount(typed.amount, 'amount', '10.00')
    const { url } = await call('POST /api/billing/checkout', { body: { amount } })
    location.assign(url)
  })
  return (
    <section class="card" aria-labelledby="topup-title">
      <h2 id="topup-title">Add credit by card</h2>
      <Form action={pay} verb="Go to payment">
        <TextField label={`Amount in ${currency}`} inputMode="decimal" {...pay.field('amount')} />
      </Form>
    </section>
  )
}
