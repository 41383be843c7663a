import { useState } from 'preact/hooks'
import type { Key } from '../../api/contract/keys.ts'
import { useAction } from '../api/action.ts'
import { call } from '../api/client.ts'
import { useRevision } from '../api/form-state.ts'
import { limitTexts, readLimits } from '../format/limit-texts.ts'
import { Dialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { LimitFields } from './limit-fields.tsx'

/** What may change about a key after it was made: its name and its limits. */
export function EditKey({ apiKey, onClose, onDone }: { apiKey: Key; onClose(): void; onDone(): void }) {
  const [name, setName] = useState(apiKey.name)
  const [limits, setLimits] = useState(limitTexts(apiKey.limits))
  const revision = useRevision(apiKey)
  const save = useAction(async () => {
    await call('PATCH /api/keys/:id', {
      params: { id: apiKey.id },
      body: { name: name.trim(), limits: readLimits(limits, 'limits.'), revision },
    })
    onDone()
    onClose()
  })
  return (
    <Dialog title="Edit key" onClose={onClose}>
      <Form action={save} verb="Save" onCancel={onClose}>
        <TextField label="Name" value={name} onValue={setName} error={save.errorOf('name')} />
        <LimitFields value={limits} onValue={setLimits} errorOf={field => save.errorOf(`limits.${field}`)} />
      </Form>
    </Dialog>
  )
}
