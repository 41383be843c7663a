import { CheckField } from '../parts/field.tsx'

/** Some of a list of models. */
export function ModelChoice({
  legend,
  models,
  chosen,
  onValue,
}: {
  legend: string
  models: readonly string[]
  chosen: readonly string[]
  onValue(chosen: string[]): void
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
            checked={chosen.includes(model)}
            onValue={isChosen =>
              onValue(isChosen ? [...chosen, model] : chosen.filter(other => other !== model))
            }
          />
        ))}
      </div>
    </fieldset>
  )
}
