import { useState } from 'preact/hooks'
import type { Receipt } from '../../../api/contract/requests.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { fieldsOf, useTexts } from '../../api/form-state.ts'
import { onceId } from '../../api/once.ts'
import { isPositive } from '../../format/money.ts'
import { typedAmount } from '../../format/typed.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useCurrency, useMayAdminister } from '../../session.tsx'
import { ToldReason, typedReason } from './reasoned-acts.tsx'

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
  const [texts, change] = useTexts(() => ({ amount: receipt.charged.replace(/\.?0+$/, ''), reason: '' }))
  const [once] = useState(onceId)
  const refund = useAction(async () => {
    const amount = typedAmount(texts.amount, 'amount')
    await call('POST /api/admin/requests/:id/refund', {
      params: { id: receipt.request_id },
      body: { amount, reason: typedReason(texts.reason), once },
    })
    toast('The refund is given')
    onDone()
    onClose()
  })
  const field = fieldsOf(texts, change, refund.errorOf)
  return (
    <Dialog title="Refund this request" onClose={onClose}>
      <Form action={refund} verb="Give refund" onCancel={onClose}>
        <TextField
          label={`Amount in ${currency}`}
          autoFocus
          inputMode="decimal"
          hint="What it was charged, or a part of that."
          {...field('amount')}
        />
        <ToldReason {...field('reason')} />
      </Form>
    </Dialog>
  )
}
