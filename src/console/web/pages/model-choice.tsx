import type { FieldOf } from '../api/form-state.ts'
import { CheckField } from '../parts/field.tsx'

/** Some of a list of models. */
export function ModelChoice({
  legend,
  models,
  value: chosen,
  onValue,
  error,
}: FieldOf<readonly string[]> & {
  legend: string
  models: readonly string[]
}) {
  return (
    <fieldset class="field">
      <legend class="legend">{legend}</legend>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div class="choices" tabIndex={0}>
        {models.map(model => (
          <CheckField
            key={model}
            label={<code>{model}</code>}
            value={chosen.includes(model)}
            onValue={isChosen =>
              onValue(isChosen ? [...chosen, model] : chosen.filter(other => other !== model))
            }
          />
        ))}
      </div>
      {error === undefined ? null : <span class="error">{error}</span>}
    </fieldset>
  )
}
