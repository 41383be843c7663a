import { useState } from 'preact/hooks'
import { useAction } from '../api/action.ts'
import { call } from '../api/client.ts'
import { typedAmount } from '../format/typed.ts'
import { TextField } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { useCurrency } from '../session.tsx'

/** Credit by card: the browser goes to pay, and comes back. */
export function TopUp() {
  const currency = useCurrency()
  const [text, setText] = useState('10.00')
  const pay = useAction(async () => {
    const amount = typedAmount(text, 'amount', '10.00')
    const { url } = await call('POST /api/billing/checkout', { body: { amount } })
    location.assign(url)
  })
  return (
    <section class="card" aria-labelledby="topup-title">
      <h2 id="topup-title">Add credit by card</h2>
      <Form action={pay} verb="Go to payment">
        <TextField
          label={`Amount in ${currency}`}
          inputMode="decimal"
          value={text}
          onValue={setText}
          error={pay.errorOf('amount')}
        />
      </Form>
    </section>
  )
}
