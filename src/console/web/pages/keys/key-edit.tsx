import type { Key } from '../../../api/contract/keys.ts'
import { call } from '../../api/client.ts'
import { useForm, useRevision } from '../../api/form-state.ts'
import { limitTexts, readLimits } from '../../format/limit-texts.ts'
import { TextField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { LimitFieldsOf } from './limit-fields.tsx'

/** What may change about a key after it was made: its name and its limits. */
export function EditKey({ apiKey, onClose, onDone }: { apiKey: Key; onClose(): void; onDone(): void }) {
  const revision = useRevision(apiKey)
  const start = { name: apiKey.name, limits: limitTexts(apiKey.limits) }
  const save = useForm(start, async ({ name, limits }) => {
    await call('PATCH /api/keys/:id', {
      params: { id: apiKey.id },
      body: { name: name.trim(), limits: readLimits(limits, 'limits.'), revision },
    })
    onDone()
    onClose()
  })
  return (
    <FormDialog title="Edit key" verb="Save" action={save} onClose={onClose}>
      <TextField label="Name" {...save.field('name')} />
      <LimitFieldsOf form={save} />
    </FormDialog>
  )
}
