import { type LimitTexts, limitError } from '../format/limit-texts.ts'
import { TextField } from '../parts/field.tsx'

/** The fields for the three limits of an account or a key. */
export function LimitFields({
  value,
  onValue,
  errorOf,
}: {
  value: LimitTexts
  onValue(value: LimitTexts): void
  errorOf(field: string): string | undefined
}) {
  return (
    <div class="columns">
      <TextField
        label="Requests a minute"
        optional
        inputMode="numeric"
        value={value.requests}
        onValue={requests => onValue({ ...value, requests })}
        error={limitError(value.requests) ?? errorOf('requests_per_minute')}
      />
      <TextField
        label="Tokens a minute"
        optional
        inputMode="numeric"
        value={value.tokens}
        onValue={tokens => onValue({ ...value, tokens })}
        error={limitError(value.tokens) ?? errorOf('tokens_per_minute')}
      />
      <TextField
        label="Requests at once"
        optional
        inputMode="numeric"
        value={value.concurrent}
        onValue={concurrent => onValue({ ...value, concurrent })}
        error={limitError(value.concurrent) ?? errorOf('concurrent_requests')}
      />
    </div>
  )
}
