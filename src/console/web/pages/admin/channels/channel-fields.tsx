import type { Channel } from '../../../../api/contract/admin-catalog.ts'
import type { FormState } from '../../../api/form-state.ts'
import type { ChannelTexts } from '../../../format/channel-texts.ts'
import { Button } from '../../../parts/button.tsx'
import { CheckField, type Option, SelectField, TextArea, TextField } from '../../../parts/field.tsx'

const THINK_TAGS: readonly Option<ChannelTexts['think_tags']>[] = [
  { value: '', label: 'None' },
  { value: 'both', label: 'Between <think> and </think>' },
  { value: 'closing', label: 'Before </think>: the template writes the opening tag' },
]

const REASONING_FIELDS: readonly Option<ChannelTexts['reasoning_field']>[] = [
  { value: '', label: 'As its host is known to' },
  { value: 'reasoning', label: 'reasoning, as vLLM does' },
  { value: 'reasoning_content', label: 'reasoning_content' },
]

/** The keys that a channel has: their secrets are not shown, they stay or are forgotten. */
export function KeptKeys({
  kept,
  onValue,
}: {
  kept: Channel['api_keys']
  onValue(kept: Channel['api_keys']): void
}) {
  return (
    <div class="field">
      <span class="legend">Keys</span>
      {kept.length === 0 ? <span class="soft">None is left.</span> : null}
      <ul class="stack tight">
        {kept.map((key, index) => (
          <li key={key.id} class="row">
            <code>{key.hint ?? `key ${index + 1}`}</code>
            <Button small kind="quiet" onClick={() => onValue(kept.filter(other => other.id !== key.id))}>
              Forget<span class="unseen"> key {index + 1}</span>
            </Button>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** What most channels leave as it is. */
export function MoreFields({ texts, field }: FormState<ChannelTexts>) {
  return (
    <div class="stack">
      <div class="columns">
        <TextField label="Priority" inputMode="numeric" hint="Lower is tried first." {...field('priority')} />
        <TextField label="Weight" inputMode="numeric" hint="Its share among equals." {...field('weight')} />
        <TextField label="Most at once" optional inputMode="numeric" {...field('max_concurrent')} />
      </div>
      <div class="columns">
        <TextField label="Connect, ms" optional inputMode="numeric" {...field('timeouts.connect_ms')} />
        <TextField label="First byte, ms" optional inputMode="numeric" {...field('timeouts.first_byte_ms')} />
        <TextField label="Silence, ms" optional inputMode="numeric" {...field('timeouts.idle_ms')} />
      </div>
      <TextArea
        label="Headers"
        optional
        rows={2}
        spellcheck={false}
        placeholder="x-team: gateway"
        hint="One a line; added to every request. No secrets: those are keys."
        {...field('headers')}
      />
      <CheckField label="Accepts function tools only" {...field('function_tools_only')} />
      <SelectField
        label="Thoughts in the text"
        options={THINK_TAGS}
        hint="Open-weight models write them between tags; callers get them as thoughts."
        {...field('think_tags')}
      />
      {texts.format === 'openai-chat-completions' && (
        <SelectField
          label="Reads earlier thoughts as"
          options={REASONING_FIELDS}
          hint="Servers pass over the thoughts of earlier turns in any other field."
          {...field('reasoning_field')}
        />
      )}
      {texts.format === 'anthropic-messages' && (
        <CheckField
          label="Asks for the prompt cache"
          hint="For callers of the other formats, whose vendors keep prompts unasked."
          {...field('cache_prompts')}
        />
      )}
      <CheckField
        label="The address may be on a private network"
        hint="An address such as 127.0.0.1 says so itself."
        {...field('allow_private')}
      />
    </div>
  )
}
