import { useState } from 'preact/hooks'
import type { RedeemCode } from '../../../../api/contract/admin-ledger.ts'
import { call } from '../../../api/client.ts'
import { useForm, useOnce } from '../../../api/form-state.ts'
import { useCursorList } from '../../../api/query.ts'
import { serverNow } from '../../../api/server-time.ts'
import { counted, wholeNumber } from '../../../format/number.ts'
import { readLocalTime } from '../../../format/time.ts'
import { typedAmount, typedCount } from '../../../format/typed.ts'
import { AddButton, Button } from '../../../parts/button.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { Code } from '../../../parts/copy.tsx'
import { Dialog, DialogEnd } from '../../../parts/dialog.tsx'
import { TextField } from '../../../parts/field.tsx'
import { FormDialog } from '../../../parts/form.tsx'
import { ListTable } from '../../../parts/list-table.tsx'
import { Badge, Empty, Notice } from '../../../parts/notice.tsx'
import { Page } from '../../../parts/page.tsx'
import { actionColumn, type Column, moneyColumn } from '../../../parts/table.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { When } from '../../../parts/when.tsx'
import { useCurrency, useMayAdminister } from '../../../session.tsx'

const idOf = (code: RedeemCode) => code.id

/** The codes that give credit, and the form for more. */
export function RedeemCodesPage() {
  const codes = useCursorList('codes', idOf, (cursor, signal) =>
    call('GET /api/admin/redeem-codes', { query: { cursor } }, signal),
  )
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<RedeemCode>()
  const toast = useToast()
  const mayAdminister = useMayAdminister()
  const create = mayAdminister ? (
    <AddButton onClick={() => setCreating(true)}>Make codes</AddButton>
  ) : undefined
  return (
    <Page
      title="Redeem codes"
      lead="Credit to give away. A code is shown once, when it is made; only a fingerprint of it is kept."
      actions={create}
    >
      <ListTable
        label="Redeem codes"
        list={codes}
        columns={mayAdminister ? [...COLUMNS, takeBackColumn(setRevoking)] : COLUMNS}
        empty={
          <Empty title="No codes yet" action={create}>
            Whoever has a code turns it into credit on their billing page.
          </Empty>
        }
      />
      {isCreating ? (
        <Create
          onClose={() => {
            setCreating(false)
            codes.reload()
          }}
        />
      ) : null}
      {revoking === undefined ? null : (
        <Confirm
          title="Take this code back?"
          verb="Take back"
          danger
          onClose={() => {
            setRevoking(undefined)
            codes.reload()
          }}
          action={async () => {
            await call('DELETE /api/admin/redeem-codes/:id', { params: { id: revoking.id } })
            toast('The code works no more')
          }}
        >
          <p>
            Nobody can redeem <code>{revoking.id}</code> any more.
            {revoking.uses === 0 ? null : ' Whoever has done so keeps the credit.'}
          </p>
        </Confirm>
      )}
    </Page>
  )
}

const COLUMNS: readonly Column<RedeemCode>[] = [
  { label: 'Fingerprint', kind: 'primary-cell', cell: code => <code>{code.id}</code> },
  moneyColumn('Amount', code => code.amount),
  {
    label: 'Used',
    kind: 'number',
    cell: code => `${wholeNumber(code.uses)} of ${wholeNumber(code.max_uses)}`,
  },
  {
    label: 'State',
    kind: 'nowrap',
    cell: code =>
      code.revoked_at !== null ? (
        <Badge kind="warn">Taken back</Badge>
      ) : code.uses >= code.max_uses ? (
        <Badge>Used up</Badge>
      ) : isExpired(code) ? (
        <Badge kind="warn">Expired</Badge>
      ) : (
        <Badge kind="good">Open</Badge>
      ),
  },
  { label: 'Expires', kind: 'nowrap', cell: code => <When iso={code.expires_at} style="day" /> },
  {
    label: 'Credit expires',
    kind: 'nowrap',
    cell: code => <When iso={code.credit_expires_at} style="day" />,
  },
  { label: 'Made', kind: 'nowrap', cell: code => <When iso={code.created_at} /> },
]

/** What may be done to a code that somebody can still redeem. */
function takeBackColumn(onRevoke: (code: RedeemCode) => void): Column<RedeemCode> {
  return actionColumn(code =>
    code.revoked_at !== null || code.uses >= code.max_uses || isExpired(code) ? null : (
      <Button small kind="danger" onClick={() => onRevoke(code)}>
        Take back<span class="unseen"> the code {code.id}</span>
      </Button>
    ),
  )
}

function isExpired({ expires_at, credit_expires_at }: RedeemCode): boolean {
  return isOver(expires_at) || isOver(credit_expires_at)
}

function isOver(end: string | null): boolean {
  return end !== null && Date.parse(end) < serverNow()
}

function Create({ onClose }: { onClose(): void }) {
  const currency = useCurrency()
  const [codes, setCodes] = useState<string[]>()
  const once = useOnce()
  const none = { amount: '', count: '1', uses: '1', expires_at: '', credit_expires_at: '' }
  const create = useForm(none, async texts => {
    const made = await call('POST /api/admin/redeem-codes', {
      body: {
        amount: typedAmount(texts.amount, 'amount'),
        count: typedCount(texts.count, 'count'),
        uses: typedCount(texts.uses, 'uses'),
        expires_at: readLocalTime(texts.expires_at),
        credit_expires_at: readLocalTime(texts.credit_expires_at),
        once,
      },
    })
    setCodes(made.codes)
  })
  const { field } = create
  if (codes !== undefined) {
    return (
      <Dialog title={counted(codes.length, 'code')} held="shown-once" onClose={onClose}>
        <Notice kind="warn">Copy them now: this is the only time they are shown.</Notice>
        <div data-testid="codes">
          <Code text={codes.join('\n')} what="the codes" />
        </div>
        <DialogEnd onClose={onClose}>I have copied them</DialogEnd>
      </Dialog>
    )
  }
  return (
    <FormDialog title="Make redeem codes" verb="Make codes" action={create} onClose={onClose}>
      <div class="columns">
        <TextField
          label={`Amount in ${currency}`}
          autoFocus
          inputMode="decimal"
          placeholder="5.00"
          {...field('amount')}
        />
        <TextField label="How many codes" inputMode="numeric" {...field('count')} />
      </div>
      <TextField
        label="Uses of each"
        inputMode="numeric"
        hint="Each account can use a code once."
        {...field('uses')}
      />
      <div class="columns">
        <TextField
          label="Expires"
          optional
          type="datetime-local"
          hint="Until when it can be redeemed, in your own time zone."
          {...field('expires_at')}
        />
        <TextField
          label="Its credit expires"
          optional
          type="datetime-local"
          hint="What is left of it then is taken away."
          {...field('credit_expires_at')}
        />
      </div>
    </FormDialog>
  )
}
