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
  const field = (name: keyof LimitTexts, said: string) => ({
    optional: true,
    inputMode: 'numeric' as const,
    value: value[name],
    onValue: (text: string) => onValue({ ...value, [name]: text }),
    error: limitError(value[name]) ?? errorOf(said),
  })
  return (
    <div class="columns">
      <TextField label="Requests a minute" {...field('requests', 'requests_per_minute')} />
      <TextField label="Tokens a minute" {...field('tokens', 'tokens_per_minute')} />
      <TextField label="Requests at once" {...field('concurrent', 'concurrent_requests')} />
    </div>
  )
}
