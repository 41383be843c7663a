import { PRICE_FIELDS, type PriceTexts } from '../../../format/price-texts.ts'
import { TextArea, TextField } from '../../../parts/field.tsx'
import { useCurrency } from '../../../session.tsx'

/** The first of them are what nearly every model needs. */
const FIRST = 3

/** The prices of a model, a field for each; what is wrong with another part of them is said at the JSON that has it. */
export function PriceFields({
  value,
  onValue,
  errorOf,
}: {
  value: PriceTexts
  onValue(value: PriceTexts): void
  errorOf(field: string): string | undefined
}) {
  const currency = useCurrency()
  const isNamed = PRICE_FIELDS.some(({ name }) => errorOf(`prices.${name}`) !== undefined)
  const field = ({ name, label }: (typeof PRICE_FIELDS)[number]) => (
    <TextField
      key={name}
      label={label}
      optional
      inputMode="decimal"
      value={value.values[name] ?? ''}
      onValue={text => onValue({ ...value, values: { ...value.values, [name]: text } })}
      error={errorOf(`prices.${name}`)}
    />
  )
  return (
    <fieldset class="stack tight">
      <legend class="legend">Prices</legend>
      <p class="hint">
        In {currency} per million tokens. What is left empty falls back: cached input and cache writes to
        input, reasoning to output.
      </p>
      <div class="prices">{PRICE_FIELDS.slice(0, FIRST).map(field)}</div>
      <details>
        <summary>More prices</summary>
        <div class="stack">
          <div class="prices">{PRICE_FIELDS.slice(FIRST).map(field)}</div>
          <TextArea
            label="Images, long prompts, service tiers"
            optional
            rows={3}
            spellcheck={false}
            hint='JSON: {"per_image": {"default": "0.04"}, "tiers": [{"above_input_tokens": 200000, "input": "2.5"}], "service_tiers": {"priority": {"input": "2.5"}}}'
            value={value.more}
            onValue={more => onValue({ ...value, more })}
            error={isNamed ? undefined : errorOf('prices')}
          />
        </div>
      </details>
    </fieldset>
  )
}
