import { useState } from 'preact/hooks'
import type { Channel, Vendor } from '../../../api/contract/admin-catalog.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { type ChannelTexts, channelTexts, readChannelTexts } from '../../format/channel-texts.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import {
  CheckField,
  type Option,
  SegmentsField,
  SelectField,
  TextArea,
  TextField,
} from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'

const THINK_TAGS: readonly Option<ChannelTexts['thinkTags']>[] = [
  { value: '', label: 'None' },
  { value: 'both', label: 'Between <think> and </think>' },
  { value: 'closing', label: 'Before </think>: the template writes the opening tag' },
]

const FORMATS: readonly Option<Channel['format']>[] = [
  { value: 'openai-chat-completions', label: 'OpenAI Chat Completions' },
  { value: 'openai-responses', label: 'OpenAI Responses' },
  { value: 'anthropic-messages', label: 'Anthropic Messages' },
  { value: 'gemini-generate-content', label: 'Gemini generateContent' },
]
const FIELDS = [
  'name',
  'format',
  'base_url',
  'api_keys',
  'headers',
  'priority',
  'weight',
  'max_concurrent',
  'timeouts',
]
const OTHER = 'other'

export interface ChannelDialogProps {
  /** The one to change; absent to add one. */
  channel?: Channel
  vendors: readonly Vendor[]
  onClose(): void
  onDone(channel: Channel, vendor: Vendor | undefined): void
}

export function ChannelDialog({ channel, vendors, onClose, onDone }: ChannelDialogProps) {
  return (
    <Dialog title={channel === undefined ? 'Add a channel' : `Edit ${channel.name}`} onClose={onClose}>
      <ChannelForm channel={channel} vendors={vendors} onClose={onClose} onDone={onDone} />
    </Dialog>
  )
}

function ChannelForm({
  channel,
  vendors,
  onClose,
  onDone,
}: Omit<ChannelDialogProps, 'channel'> & { channel: Channel | undefined }) {
  const [vendorName, setVendorName] = useState(channel === undefined ? (vendors[0]?.name ?? OTHER) : OTHER)
  const vendor = vendors.find(({ name }) => name === vendorName)
  const [texts, setTexts] = useState(() => channelTexts(channel, vendor))
  const [kept, setKept] = useState(() => channel?.api_keys ?? [])
  const set = (changes: Partial<ChannelTexts>) => setTexts(last => ({ ...last, ...changes }))
  const save = useAction(async () => {
    const fields = readChannelTexts(texts, kept, channel)
    const saved =
      channel === undefined
        ? await call('POST /api/admin/channels', { body: { name: texts.name.trim(), ...fields } })
        : await call('PUT /api/admin/channels/:name', {
            params: { name: channel.name },
            body: { ...fields, revision: channel.revision },
          })
    onDone(saved, vendor)
  })
  return (
    <Form
      action={save}
      fields={FIELDS}
      verb={channel === undefined ? 'Add channel' : 'Save'}
      onCancel={onClose}
    >
      {channel === undefined ? (
        <SegmentsField
          label="Vendor"
          value={vendorName}
          options={[
            ...vendors.map(({ name }) => ({ value: name, label: name })),
            { value: OTHER, label: 'Another' },
          ]}
          onValue={name => {
            setVendorName(name)
            const { secrets } = texts
            setTexts({
              ...channelTexts(
                undefined,
                vendors.find(one => one.name === name),
              ),
              secrets,
            })
          }}
        />
      ) : (
        <KeptKeys kept={kept} onValue={setKept} />
      )}
      <TextArea
        label={channel === undefined ? 'Your key there' : 'More keys'}
        optional={channel !== undefined}
        rows={2}
        autoComplete="off"
        spellcheck={false}
        hint="Several keys, one a line, form a pool. They are encrypted at rest and never shown again."
        value={texts.secrets}
        onValue={secrets => set({ secrets })}
        error={save.errorOf('api_keys')}
      />
      <div class="columns">
        {channel === undefined ? (
          <TextField
            label="Name"
            hint="What you call this channel."
            spellcheck={false}
            value={texts.name}
            onValue={name => set({ name })}
            error={save.errorOf('name')}
          />
        ) : null}
        <SelectField
          label="Format"
          value={texts.format}
          options={FORMATS}
          onValue={format => set({ format })}
          error={save.errorOf('format')}
        />
      </div>
      <TextField
        label="Address"
        type="url"
        spellcheck={false}
        placeholder="https://api.example.com"
        hint="Without /v1, unless the vendor's version is another."
        value={texts.baseUrl}
        onValue={baseUrl => set({ baseUrl })}
        error={save.errorOf('base_url')}
      />
      <details>
        <summary>Order, timeouts and more</summary>
        <MoreFields texts={texts} set={set} errorOf={save.errorOf} />
      </details>
    </Form>
  )
}

function KeptKeys({
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

function MoreFields({
  texts,
  set,
  errorOf,
}: {
  texts: ChannelTexts
  set(changes: Partial<ChannelTexts>): void
  errorOf(field: string): string | undefined
}) {
  return (
    <div class="stack">
      <div class="columns">
        <TextField
          label="Priority"
          inputMode="numeric"
          hint="Lower is tried first."
          value={texts.priority}
          onValue={priority => set({ priority })}
          error={errorOf('priority')}
        />
        <TextField
          label="Weight"
          inputMode="numeric"
          hint="Its share among equals."
          value={texts.weight}
          onValue={weight => set({ weight })}
          error={errorOf('weight')}
        />
        <TextField
          label="Most at once"
          optional
          inputMode="numeric"
          value={texts.maxConcurrent}
          onValue={maxConcurrent => set({ maxConcurrent })}
          error={errorOf('max_concurrent')}
        />
      </div>
      <div class="columns">
        <TextField
          label="Connect, ms"
          optional
          inputMode="numeric"
          value={texts.connectMs}
          onValue={connectMs => set({ connectMs })}
          error={errorOf('timeouts.connect_ms')}
        />
        <TextField
          label="First byte, ms"
          optional
          inputMode="numeric"
          value={texts.firstByteMs}
          onValue={firstByteMs => set({ firstByteMs })}
          error={errorOf('timeouts.first_byte_ms')}
        />
        <TextField
          label="Silence, ms"
          optional
          inputMode="numeric"
          value={texts.idleMs}
          onValue={idleMs => set({ idleMs })}
          error={errorOf('timeouts.idle_ms')}
        />
      </div>
      <TextArea
        label="Headers"
        optional
        rows={2}
        spellcheck={false}
        placeholder="x-team: gateway"
        hint="One a line; added to every request. No secrets: those are keys."
        value={texts.headers}
        onValue={headers => set({ headers })}
        error={errorOf('headers')}
      />
      <CheckField
        label="Accepts function tools only"
        checked={texts.functionToolsOnly}
        onValue={functionToolsOnly => set({ functionToolsOnly })}
      />
      <SelectField
        label="Thoughts in the text"
        value={texts.thinkTags}
        options={THINK_TAGS}
        hint="Open-weight models write them between tags; callers get them as thoughts."
        onValue={thinkTags => set({ thinkTags })}
      />
      <CheckField
        label="The address may be on a private network"
        hint="An address such as 127.0.0.1 says so itself."
        checked={texts.allowPrivate}
        onValue={allowPrivate => set({ allowPrivate })}
      />
    </div>
  )
}
