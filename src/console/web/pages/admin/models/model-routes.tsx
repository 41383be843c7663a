import type { Channel } from '../../../../api/contract/admin-catalog.ts'
import { fieldsOf } from '../../../api/form-state.ts'
import { type RouteTexts, routeTexts } from '../../../format/model-texts.ts'
import { Button } from '../../../parts/button.tsx'
import { asOptions, SelectField, TextField } from '../../../parts/field.tsx'

/** Which channels serve a model, what it is called there, and in which order they are tried. */
export function Routes({
  routes,
  channels,
  onValue,
  error,
}: {
  routes: readonly RouteTexts[]
  channels: readonly Channel[]
  onValue(routes: RouteTexts[]): void
  error: string | undefined
}) {
  const set = (index: number, changes: Partial<RouteTexts>) =>
    onValue(routes.map((route, at) => (at === index ? { ...route, ...changes } : route)))
  return (
    <fieldset class="stack tight">
      <legend class="legend">Served by</legend>
      {routes.map((route, index) => {
        const field = fieldsOf(route, changes => set(index, changes))
        return (
          <div key={index} class="route-row">
            <SelectField
              label="Channel"
              options={asOptions(channels.map(({ name }) => name))}
              {...field('channel')}
            />
            <TextField label="Its name there" optional spellcheck={false} {...field('model')} />
            <TextField label="Priority" inputMode="numeric" {...field('priority')} />
            <TextField label="Weight" inputMode="numeric" {...field('weight')} />
            {routes.length < 2 ? null : (
              <Button kind="quiet" onClick={() => onValue(routes.filter((_, at) => at !== index))}>
                Remove<span class="unseen"> route {index + 1}</span>
              </Button>
            )}
          </div>
        )
      })}
      {error === undefined ? null : <span class="error">{error}</span>}
      <div>
        <Button small onClick={() => onValue([...routes, ...routeTexts(undefined, channels)])}>
          Add another channel
        </Button>
      </div>
    </fieldset>
  )
}
