import { useState } from 'preact/hooks'
import type { Receipt } from '../../../../api/contract/requests.ts'
import { call } from '../../../api/client.ts'
import { useForm, useOnce } from '../../../api/form-state.ts'
import { isPositive } from '../../../format/money.ts'
import { typedAmount } from '../../../format/typed.ts'
import { Button } from '../../../parts/button.tsx'
import { TextField } from '../../../parts/field.tsx'
import { FormDialog } from '../../../parts/form.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { useCurrency, useMayAdminister } from '../../../session.tsx'
import { ToldReason, typedReason } from '../accounts/reasoned-acts.tsx'

/** Gives back what a request was charged, or a part of it; nothing where nothing is left of that. */
export function Refund({ receipt, onDone }: { receipt: Receipt; onDone(): void }) {
  const mayAdminister = useMayAdminister()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {mayAdminister && isPositive(receipt.charged) ? (
        <div>
          <Button onClick={() => setOpen(true)}>Refund</Button>
        </div>
      ) : null}
      {isOpen ? <RefundDialog receipt={receipt} onDone={onDone} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

function RefundDialog({ receipt, onDone, onClose }: { receipt: Receipt; onDone(): void; onClose(): void }) {
  const currency = useCurrency()
  const toast = useToast()
  const once = useOnce()
  const start = { amount: receipt.charged.replace(/\.?0+$/, ''), reason: '' }
  const refund = useForm(start, async texts => {
    const amount = typedAmount(texts.amount, 'amount')
    await call('POST /api/admin/requests/:id/refund', {
      params: { id: receipt.request_id },
      body: { amount, reason: typedReason(texts.reason), once },
    })
    toast('The refund is given')
    onDone()
    onClose()
  })
  return (
    <FormDialog title="Refund this request" verb="Give refund" action={refund} onClose={onClose}>
      <TextField
        label={`Amount in ${currency}`}
        autoFocus
        inputMode="decimal"
        hint="What it was charged, or a part of that."
        {...refund.field('amount')}
      />
      <ToldReason {...refund.field('reason')} />
    </FormDialog>
  )
}
