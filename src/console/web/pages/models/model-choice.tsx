import { useState } from 'preact/hooks'
import type { FieldOf } from '../../api/form-state.ts'
import { asOptions, CheckField, SelectField } from '../../parts/field.tsx'
import { FindField, noneCalled } from '../../parts/find-field.tsx'

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
  const found = models.filter(model => isCalled(model, wanted))
  const shown = models.filter(model => chosen.includes(model) || found.includes(model))
  return (
    <fieldset class="field">
      <legend class="legend">{legend}</legend>
      {models.length <= MANY ? null : (
        <FindField what="model" found={found.length} value={wanted} onValue={setWanted} />
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
        {shown.length === 0 ? <span class="soft">{NONE}</span> : null}
      </div>
      {error === undefined ? null : <span class="error">{error}</span>}
    </fieldset>
  )
}

/**
 * One of a list of models. Typing a part of a name narrows a long list and, where one has to be chosen, chooses the
 * first that fits.
 */
export function OneModel({
  models,
  none,
  value: chosen,
  onValue,
  ...rest
}: FieldOf & {
  label: string
  models: readonly string[]
  /** What choosing none of them is called; left out: one has to be chosen. */
  none?: string
}) {
  const [wanted, setWanted] = useState('')
  const found = models.filter(model => isCalled(model, wanted))
  const isListed = found.includes(chosen) || (chosen === '' && none !== undefined)
  const find = (text: string) => {
    setWanted(text)
    const first = models.find(model => isCalled(model, text))
    if (none === undefined && first !== undefined && !isCalled(chosen, text)) onValue(first)
  }
  return (
    <>
      {models.length <= MANY ? null : (
        <FindField what="model" found={found.length} value={wanted} onValue={find} />
      )}
      <SelectField
        {...rest}
        hint={found.length === 0 ? NONE : undefined}
        options={[
          ...(none === undefined ? [] : [{ value: '', label: none }]),
          ...asOptions(isListed ? found : [chosen, ...found]),
        ]}
        value={chosen}
        onValue={onValue}
      />
    </>
  )
}

const NONE = noneCalled('model')

function isCalled(model: string, wanted: string): boolean {
  return model.toLowerCase().includes(wanted.trim().toLowerCase())
}
