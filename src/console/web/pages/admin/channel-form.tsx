import { useState } from 'preact/hooks'
import type { Channel, Vendor } from '../../../api/contract/admin-catalog.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { ApiFailure } from '../../api/failure.ts'
import { headerLines, readHeaderLines } from '../../format/header-lines.ts'
import { readCount } from '../../format/number.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { CheckField, type Option, Segments, SelectField, TextArea, TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'

type Format = Channel['format']

const FORMATS: readonly Option<Format>[] = [
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

interface ChannelTexts {
  name: string
  format: Format
  baseUrl: string
  secrets: string
  headers: string
  priority: string
  weight: string
  maxConcurrent: string
  connectMs: string
  firstByteMs: string
  idleMs: string
  functionToolsOnly: boolean
  allowPrivate: boolean
}

function textsOf(channel: Channel | undefined, vendor: Vendor | undefined): ChannelTexts {
  const text = (value: number | null | undefined) =>
    value === null || value === undefined ? '' : String(value)
  return {
    name: channel?.name ?? vendor?.channel.name ?? '',
    format: channel?.format ?? vendor?.channel.format ?? 'openai-chat-completions',
    baseUrl: channel?.base_url ?? vendor?.channel.base_url ?? '',
    secrets: '',
    headers: headerLines(channel?.headers ?? {}),
    priority: text(channel?.priority ?? 0),
    weight: text(channel?.weight ?? 1),
    maxConcurrent: text(channel?.max_concurrent),
    connectMs: text(channel?.timeouts.connect_ms),
    firstByteMs: text(channel?.timeouts.first_byte_ms),
    idleMs: text(channel?.timeouts.idle_ms),
    functionToolsOnly: channel?.function_tools_only ?? false,
    allowPrivate: channel?.allow_private ?? false,
  }
}

function ChannelForm({
  channel,
  vendors,
  onClose,
  onDone,
}: Omit<ChannelDialogProps, 'channel'> & { channel: Channel | undefined }) {
  const [vendorName, setVendorName] = useState(channel === undefined ? (vendors[0]?.name ?? OTHER) : OTHER)
  const vendor = vendors.find(({ name }) => name === vendorName)
  const [texts, setTexts] = useState(() => textsOf(channel, vendor))
  const [kept, setKept] = useState(() => channel?.api_keys ?? [])
  const set = (changes: Partial<ChannelTexts>) => setTexts(last => ({ ...last, ...changes }))
  const save = useAction(async () => {
    const fields = fieldsOf(texts, kept, channel)
    const saved =
      channel === undefined
        ? await call('POST /api/admin/channels', { body: { name: texts.name.trim(), ...fields } })
        : await call('PUT /api/admin/channels/:name', { params: { name: channel.name }, body: fields })
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
        <div class="field">
          <span class="legend" aria-hidden="true">
            Vendor
          </span>
          <div>
            <Segments
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
                  ...textsOf(
                    undefined,
                    vendors.find(one => one.name === name),
                  ),
                  secrets,
                })
              }}
            />
          </div>
        </div>
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
      <CheckField
        label="The address may be on a private network"
        hint="An address such as 127.0.0.1 says so itself."
        checked={texts.allowPrivate}
        onValue={allowPrivate => set({ allowPrivate })}
      />
    </div>
  )
}

/** @throws ApiFailure naming the field that cannot be read */
function fieldsOf(texts: ChannelTexts, kept: Channel['api_keys'], channel: Channel | undefined) {
  const headers = readHeaderLines(texts.headers)
  if (headers === undefined) wrong('headers', 'One header a line, such as x-team: gateway.')
  const secrets = texts.secrets.split(/\s+/).filter(secret => secret !== '')
  if (channel === undefined && secrets.length === 0) wrong('api_keys', 'Paste a key of this vendor.')
  if (texts.baseUrl.trim() === '') wrong('base_url', 'Where is it reached?')
  const connectMs = optionalCount(texts.connectMs, 'timeouts.connect_ms')
  const firstByteMs = optionalCount(texts.firstByteMs, 'timeouts.first_byte_ms')
  const idleMs = optionalCount(texts.idleMs, 'timeouts.idle_ms')
  return {
    format: texts.format,
    base_url: texts.baseUrl.trim(),
    api_keys: [...kept.map(({ id }) => ({ id })), ...secrets.map(secret => ({ secret }))],
    priority: integer(texts.priority, 'priority'),
    weight: integer(texts.weight, 'weight'),
    headers,
    timeouts: {
      ...(connectMs === undefined ? {} : { connect_ms: connectMs }),
      ...(firstByteMs === undefined ? {} : { first_byte_ms: firstByteMs }),
      ...(idleMs === undefined ? {} : { idle_ms: idleMs }),
    },
    max_concurrent: optionalCount(texts.maxConcurrent, 'max_concurrent') ?? null,
    function_tools_only: texts.functionToolsOnly,
    // Unticked on a new channel, the address decides.
    ...(texts.allowPrivate || channel !== undefined ? { allow_private: texts.allowPrivate } : {}),
  }
}

function integer(text: string, field: string): number {
  if (!/^-?\d{1,7}$/.test(text.trim())) wrong(field, 'A whole number.')
  return Number(text)
}

function optionalCount(text: string, field: string): number | undefined {
  if (text.trim() === '') return undefined
  const count = readCount(text)
  if (count === undefined || count === 0) wrong(field, 'A whole number above 0, or nothing.')
  return count
}

function wrong(field: string, message: string): never {
  throw new ApiFailure(400, 'invalid_request', message, field)
}
