import { useState } from 'preact/hooks'
import type { FieldOf } from '../api/form-state.ts'
import { CheckField, TextField } from '../parts/field.tsx'

/** More than these nobody looks through by eye. */
const MANY = 12

/** Some of a list of models; of many those that are chosen, and those that are looked for. */
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
  const [wanted, setWanted] = useState('')
  const part = wanted.trim().toLowerCase()
  const shown = models.filter(model => chosen.includes(model) || model.toLowerCase().includes(part))
  return (
    <fieldset class="field">
      <legend class="legend">{legend}</legend>
      {models.length <= MANY ? null : (
        <TextField
          label="Find a model"
          type="search"
          spellcheck={false}
          value={wanted}
          onValue={setWanted}
          onKeyDown={event => {
            // The form around it is not meant.
            if (event.key === 'Enter') event.preventDefault()
          }}
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div class="choices" tabIndex={0}>
        {shown.map(model => (
          <CheckField
            key={model}
            label={<code>{model}</code>}
            value={chosen.includes(model)}
            onValue={isChosen =>
              onValue(isChosen ? [...chosen, model] : chosen.filter(other => other !== model))
            }
          />
        ))}
        {shown.length === 0 ? <span class="soft">No model is called so</span> : null}
      </div>
      {error === undefined ? null : <span class="error">{error}</span>}
    </fieldset>
  )
}
