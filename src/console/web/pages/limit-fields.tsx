import { readCount } from '../format/number.ts'
import { TextField } from '../parts/field.tsx'

/** As typed; an empty text is the deployment's default. */
export interface LimitTexts {
  requests: string
  tokens: string
  concurrent: string
}

export const NO_LIMITS: LimitTexts = { requests: '', tokens: '', concurrent: '' }

export interface Limits {
  requests_per_minute: number | null
  tokens_per_minute: number | null
  concurrent_requests: number | null
}

export function limitTexts(limits: Limits): LimitTexts {
  const text = (value: number | null) => (value === null ? '' : String(value))
  return {
    requests: text(limits.requests_per_minute),
    tokens: text(limits.tokens_per_minute),
    concurrent: text(limits.concurrent_requests),
  }
}

export function readLimits(texts: LimitTexts): Limits {
  return {
    requests_per_minute: readCount(texts.requests) ?? null,
    tokens_per_minute: readCount(texts.tokens) ?? null,
    concurrent_requests: readCount(texts.concurrent) ?? null,
  }
}

/** What is wrong with what was typed, by field; undefined if nothing is. */
export function limitError(text: string): string | undefined {
  if (text.trim() === '') return undefined
  const count = readCount(text)
  return count === undefined || count === 0
    ? 'A whole number above 0, or nothing for the default.'
    : undefined
}

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
