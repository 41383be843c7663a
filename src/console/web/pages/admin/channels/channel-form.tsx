import { useState } from 'preact/hooks'
import type { Channel, Vendor } from '../../../../api/contract/admin-catalog.ts'
import { call } from '../../../api/client.ts'
import { useForm, useRevision } from '../../../api/form-state.ts'
import { useQuery } from '../../../api/query.ts'
import { channelTexts, readChannelTexts } from '../../../format/channel-texts.ts'
import { Dialog } from '../../../parts/dialog.tsx'
import {
  asOptions,
  type Option,
  SegmentsField,
  SelectField,
  TextArea,
  TextField,
} from '../../../parts/field.tsx'
import { Form } from '../../../parts/form.tsx'
import { Answer } from '../../../parts/page.tsx'
import { KeptKeys, MoreFields } from './channel-fields.tsx'

const FORMATS: readonly Option<Channel['format']>[] = [
  { value: 'openai-chat-completions', label: 'OpenAI Chat Completions' },
  { value: 'openai-responses', label: 'OpenAI Responses' },
  { value: 'anthropic-messages', label: 'Anthropic Messages' },
  { value: 'gemini-generate-content', label: 'Gemini generateContent' },
]
const OTHER = 'other'

interface ChannelDialogProps {
  onClose(): void
  onDone(channel: Channel, vendor: Vendor | undefined): void
}

/** The form for a channel that is there. */
export function EditChannel(props: ChannelDialogProps & { channel: Channel }) {
  return (
    <Dialog title={`Edit ${props.channel.name}`} onClose={props.onClose}>
      <ChannelForm {...props} vendors={[]} />
    </Dialog>
  )
}

/** The form for a new channel, of one of the vendors or of another. */
export function AddChannel(props: ChannelDialogProps) {
  const catalogue = useQuery('catalogue', signal => call('GET /api/admin/catalogue', {}, signal))
  return (
    <Dialog title="Add a channel" onClose={props.onClose}>
      <Answer query={catalogue} what="the vendors">
        {({ items }) => <ChannelForm {...props} vendors={items} />}
      </Answer>
    </Dialog>
  )
}

function ChannelForm({
  channel,
  vendors,
  onClose,
  onDone,
}: ChannelDialogProps & {
  /** The one to change; absent to add one. */
  channel?: Channel
  vendors: readonly Vendor[]
}) {
  const [vendorName, setVendorName] = useState(channel === undefined ? (vendors[0]?.name ?? OTHER) : OTHER)
  const vendor = vendors.find(({ name }) => name === vendorName)
  const [kept, setKept] = useState(() => channel?.api_keys ?? [])
  const revision = useRevision(channel)
  const save = useForm(channelTexts(channel, vendor), async texts => {
    const fields = readChannelTexts(texts, kept, channel)
    const saved =
      channel === undefined
        ? await call('POST /api/admin/channels', { body: { name: texts.name.trim(), ...fields } })
        : await call('PUT /api/admin/channels/:name', {
            params: { name: channel.name },
            body: { ...fields, revision },
          })
    onDone(saved, vendor)
  })
  const { field } = save
  return (
    <Form action={save} verb={channel === undefined ? 'Add channel' : 'Save'} onCancel={onClose}>
      {channel === undefined ? (
        <SegmentsField
          label="Vendor"
          value={vendorName}
          options={[...asOptions(vendors.map(({ name }) => name)), { value: OTHER, label: 'Another' }]}
          onValue={name => {
            setVendorName(name)
            const { api_keys: _, ...others } = channelTexts(
              undefined,
              vendors.find(one => one.name === name),
            )
            save.change(others)
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
        {...field('api_keys')}
      />
      <div class="columns">
        {channel === undefined ? (
          <TextField label="Name" hint="What you call this channel." spellcheck={false} {...field('name')} />
        ) : null}
        <SelectField label="Format" options={FORMATS} {...field('format')} />
      </div>
      <TextField
        label="Address"
        type="url"
        spellcheck={false}
        placeholder="https://api.example.com"
        hint="Without /v1, unless the vendor's version is another."
        {...field('base_url')}
      />
      <details>
        <summary>Order, timeouts and more</summary>
        <MoreFields {...save} />
      </details>
    </Form>
  )
}
