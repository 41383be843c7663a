import { call } from '../../api/client.ts'
import { ApiFailure } from '../../api/failure.ts'
import { useForm } from '../../api/form-state.ts'
import { exactMoney } from '../../format/money.ts'
import { typedText } from '../../format/typed.ts'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useSession } from '../../session.tsx'

/** Credit for a code that somebody gave. */
export function Redeem({ onDone }: { onDone(): void }) {
  const { currency, checkout } = useSession().deployment
  const toast = useToast()
  const redeem = useForm({ code: '' }, async ({ code }) => {
    const typed = typedText(code, 'code', 'Type or paste a code.')
    const { result, amount } = await call('POST /api/billing/redeem', { body: { code: typed } })
    if (result !== 'redeemed') throw new ApiFailure(409, 'refused', REFUSALS[result], 'code')
    redeem.change({ code: '' })
    toast(`${exactMoney(amount, currency)} is yours`)
    onDone()
  })
  return (
    <section class="card" aria-labelledby="redeem-title">
      <h2 id="redeem-title">Redeem a code</h2>
      <Form action={redeem} verb="Redeem">
        <TextField
          label="Code"
          autoComplete="off"
          spellcheck={false}
          hint={checkout ? undefined : 'Your administrator gives them out, and can add credit without one.'}
          {...redeem.field('code')}
        />
      </Form>
    </section>
  )
}

const REFUSALS = {
  already_redeemed: 'You have redeemed this code already.',
  used_up: 'This code has been used as often as it can be.',
  expired: 'This code has expired.',
  revoked: 'This code was taken back by whoever gave it out.',
  unknown: 'There is no such code. Check it letter by letter.',
} as const
