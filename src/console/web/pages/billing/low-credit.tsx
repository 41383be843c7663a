import type { ConsoleOutput } from '../../../api/contract/api.ts'
import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { useQuery } from '../../api/query.ts'
import { exactMoney } from '../../format/money.ts'
import { optionalAmount } from '../../format/typed.ts'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Answer } from '../../parts/page.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useCurrency, useUser } from '../../session.tsx'

type Notice = ConsoleOutput<'GET /api/billing/notice'>

/** A mail before credit is used up, and not when requests are refused. */
export function LowCredit() {
  const notice = useQuery('notice', signal => call('GET /api/billing/notice', {}, signal))
  return (
    <section class="card" aria-labelledby="low-credit-title">
      <h2 id="low-credit-title">Mail when credit runs low</h2>
      <Answer query={notice} what="the notice">
        {stored => <NoticeForm stored={stored} />}
      </Answer>
    </section>
  )
}

function NoticeForm({ stored }: { stored: Notice }) {
  const currency = useCurrency()
  const { email } = useUser()
  const toast = useToast()
  const save = useForm({ below: typedBelow(stored) }, async typed => {
    const below = optionalAmount(typed.below, 'below') ?? null
    const changed = await call('PUT /api/billing/notice', { body: { below } })
    save.change({ below: typedBelow(changed) })
    toast(
      changed.below === null
        ? 'There is no mail any more'
        : `You get a mail when the balance falls below ${exactMoney(changed.below, currency)}`,
    )
  })
  return (
    <Form action={save} verb="Save">
      <TextField
        label={`Balance in ${currency}`}
        hint={`${email} gets a mail each time that the balance falls below it. Empty: no mail.`}
        inputMode="decimal"
        {...save.field('below')}
      />
    </Form>
  )
}

/** As somebody would type it: without the zeros behind the cents. */
function typedBelow({ below }: Notice): string {
  return below?.replace(/(\.\d\d\d*?)0*$/, '$1') ?? ''
}
