import { type FieldOf, type FormState, fieldsOf } from '../../api/form-state.ts'
import { type LimitTexts, limitError } from '../../format/limit-texts.ts'
import { TextField } from '../../parts/field.tsx'

/** The fields for the three limits of an account or a key. */
export function LimitFields({ field }: { field(name: keyof LimitTexts): FieldOf }) {
  const limit = (name: keyof LimitTexts) => {
    const { value, onValue, error } = field(name)
    return { inputMode: 'numeric' as const, value, onValue, error: limitError(value) ?? error }
  }
  return (
    <div class="columns">
      <TextField label="Requests a minute" optional {...limit('requests_per_minute')} />
      <TextField label="Tokens a minute" optional {...limit('tokens_per_minute')} />
      <TextField label="Requests at once" optional {...limit('concurrent_requests')} />
    </div>
  )
}

/** The fields of limits in a form that has more than them. */
export function LimitFieldsOf({
  form: { texts, change, errorOf },
}: {
  form: Pick<FormState<{ limits: LimitTexts }>, 'texts' | 'change' | 'errorOf'>
}) {
  const set = (changes: Partial<LimitTexts>) => change({ limits: { ...texts.limits, ...changes } })
  return <LimitFields field={fieldsOf(texts.limits, set, name => errorOf(`limits.${name}`))} />
}
