import { useState } from 'preact/hooks'
import type { Channel, Vendor } from '../../../../api/contract/admin-catalog.ts'
import { useAction } from '../../../api/action.ts'
import { call } from '../../../api/client.ts'
import { wrong } from '../../../api/failure.ts'
import { useQuery } from '../../../api/query.ts'
import { compactNumber, counted } from '../../../format/number.ts'
import { Dialog } from '../../../parts/dialog.tsx'
import { asOptions, CheckField, SegmentsField, SelectField } from '../../../parts/field.tsx'
import { Form } from '../../../parts/form.tsx'
import { Answer } from '../../../parts/page.tsx'
import { ShortPrices } from '../../models/price-list.tsx'
import { NoChannel } from '../channels/no-channel.tsx'

interface ImportDialogProps {
  /** What the page before suggests; empty if nothing. */
  wanted: { vendor: string; channel: string }
  onClose(): void
  onDone(added: readonly string[]): void
}

/** Adds models of the shipped catalogue, at list price, to one of the channels. */
export function ImportDialog(props: ImportDialogProps) {
  const channels = useQuery('channels', signal => call('GET /api/admin/channels', {}, signal))
  const catalogue = useQuery('catalogue', signal => call('GET /api/admin/catalogue', {}, signal))
  return (
    <Dialog title="Choose models from the catalogue" shape="dialog wide" onClose={props.onClose}>
      <Answer query={channels} what="the channels">
        {({ items: served }) =>
          served.length === 0 ? (
            <NoChannel />
          ) : (
            <Answer query={catalogue} what="the catalogue">
              {({ items }) => <Choose {...props} channels={served} vendors={items} />}
            </Answer>
          )
        }
      </Answer>
    </Dialog>
  )
}

function Choose({
  vendors,
  channels,
  wanted,
  onClose,
  onDone,
}: ImportDialogProps & { channels: readonly Channel[]; vendors: readonly Vendor[] }) {
  const first =
    vendors.find(({ name }) => name === wanted.vendor) ?? vendorOf(channels, vendors) ?? vendors[0]
  const [vendorName, setVendorName] = useState(first?.name ?? '')
  const vendor = vendors.find(({ name }) => name === vendorName)
  const [channelName, setChannelName] = useState(() => fitting(channels, first, wanted.channel))
  const [chosen, setChosen] = useState<readonly string[]>([])
  const add = useAction(async () => {
    if (chosen.length === 0) wrong(undefined, 'Choose at least one model.')
    const { added } = await call('POST /api/admin/catalogue/import', {
      body: { vendor: vendorName, channel: channelName, models: [...chosen] },
    })
    onDone(added)
  })
  return (
    <Form
      action={add}
      verb={chosen.length === 0 ? 'Add models' : `Add ${counted(chosen.length, 'model')}`}
      onCancel={onClose}
    >
      <SegmentsField
        label="Vendor"
        value={vendorName}
        options={asOptions(vendors.map(({ name }) => name))}
        onValue={name => {
          setVendorName(name)
          setChosen([])
          setChannelName(
            fitting(
              channels,
              vendors.find(one => one.name === name),
              '',
            ),
          )
        }}
      />
      <SelectField
        label="Served by the channel"
        value={channelName}
        options={asOptions(channels.map(({ name }) => name))}
        onValue={setChannelName}
        error={add.errorOf('channel')}
      />
      <fieldset class="field">
        <legend class="legend">Models, at list price</legend>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <div class="choices tall" tabIndex={0}>
          {vendor?.models.map(model => (
            <CheckField
              key={model.id}
              value={model.present || chosen.includes(model.id)}
              disabled={model.present}
              label={
                <>
                  <b>{model.display_name}</b> <code class="soft">{model.id}</code>
                </>
              }
              hint={
                <>
                  {model.present ? 'Already there. ' : ''}
                  <ShortPrices prices={model.prices} />
                  {model.context_tokens === null ? '' : `, ${compactNumber(model.context_tokens)} of context`}
                </>
              }
              onValue={isChosen =>
                setChosen(isChosen ? [...chosen, model.id] : chosen.filter(id => id !== model.id))
              }
            />
          ))}
        </div>
      </fieldset>
      <p class="hint">Prices are the vendor's own. You can change yours afterwards.</p>
    </Form>
  )
}

/** The vendor that one of the channels already reaches. */
function vendorOf(channels: readonly Channel[], vendors: readonly Vendor[]): Vendor | undefined {
  return vendors.find(({ channel }) => channels.some(({ base_url }) => base_url === channel.base_url))
}

/** The wanted channel, else that of the vendor, else one of its format. */
function fitting(channels: readonly Channel[], vendor: Vendor | undefined, wanted: string): string {
  const found =
    channels.find(({ name }) => name === wanted) ??
    channels.find(({ base_url }) => base_url === vendor?.channel.base_url) ??
    channels.find(({ format }) => format === vendor?.channel.format) ??
    channels[0]
  return found?.name ?? ''
}
