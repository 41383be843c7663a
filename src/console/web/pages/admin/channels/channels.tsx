import type { Channel, Vendor } from '../../../../api/contract/admin-catalog.ts'
import { useAddressState } from '../../../api/address.ts'
import { call } from '../../../api/client.ts'
import { fieldsOf } from '../../../api/form-state.ts'
import { useOpened } from '../../../api/opened.ts'
import { useQuery } from '../../../api/query.ts'
import { counted } from '../../../format/number.ts'
import { duration } from '../../../format/time.ts'
import { AddButton, Button } from '../../../parts/button.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { Fact } from '../../../parts/facts.tsx'
import { TextField } from '../../../parts/field.tsx'
import { Badge, type BadgeKind, Empty } from '../../../parts/notice.tsx'
import { Answer, Page } from '../../../parts/page.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { When } from '../../../parts/when.tsx'
import { useMayAdminister } from '../../../session.tsx'
import { AddChannel, EditChannel } from './channel-form.tsx'
import { foundChannels } from './channel-search.ts'
import { TestDialog } from './channel-test.tsx'

const PRESETS = { new: '', search: '' }

type ChannelAct = 'test' | 'edit' | 'remove'

/** What is open over the page; of what was just added, with its vendor. */
interface OpenDialog {
  act: ChannelAct | 'added'
  channel: Channel
  vendor?: Vendor | undefined
}

/** The channels and how they do. */
export function ChannelsPage() {
  const mayAdminister = useMayAdminister()
  const { state: address, change, open: go } = useAddressState(PRESETS)
  const channels = useQuery('channels', signal => call('GET /api/admin/channels', {}, signal))
  const [asked, open] = useOpened<OpenDialog>(channels.busy)
  const channel = channels.data?.items.find(({ name }) => name === asked?.channel.name)
  const opened = asked && { ...asked, channel: channel ?? asked.channel }
  const close = () => open()
  const toast = useToast()
  const add = mayAdminister ? (
    <AddButton onClick={() => go({ new: 'yes' })}>Add channel</AddButton>
  ) : undefined
  return (
    <Page
      title="Channels"
      lead="The ways to reach a vendor: an address, its format, and a pool of your keys there."
      actions={add}
    >
      <Answer query={channels} what="channels">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No channels yet" action={add}>
              Choose a vendor and paste your key there. It is encrypted, and never shown again.
            </Empty>
          ) : (
            <>
              <search class="filters" aria-label="Filter channels">
                <TextField label="Search" type="search" {...fieldsOf(address, change)('search')} />
              </search>
              <ChannelCards
                channels={foundChannels(items, address.search)}
                onAct={mayAdminister ? (act, channel) => open({ act, channel }) : undefined}
              />
            </>
          )
        }
      </Answer>
      {address.new === '' || !mayAdminister ? null : (
        <AddChannel
          onClose={() => change({ new: '' })}
          onDone={(channel, vendor) => {
            change({ new: '' })
            channels.reload()
            open({ act: 'added', channel, vendor })
          }}
        />
      )}
      {opened?.act === 'edit' ? (
        <EditChannel
          channel={opened.channel}
          onClose={close}
          onDone={() => {
            close()
            channels.reload()
            toast('The channel is changed')
          }}
        />
      ) : null}
      {opened?.act === 'test' || opened?.act === 'added' ? (
        <TestDialog
          channel={opened.channel}
          vendor={opened.vendor}
          isNew={opened.act === 'added'}
          onClose={() => {
            close()
            channels.reload()
          }}
        />
      ) : null}
      {opened?.act === 'remove' ? (
        <RemoveChannel channel={opened.channel} onClose={close} onDone={channels.reload} />
      ) : null}
    </Page>
  )
}

/** Each channel with what may be done about it; without `onAct` nothing may. */
function ChannelCards({
  channels,
  onAct,
}: {
  channels: readonly Channel[]
  onAct: ((act: ChannelAct, channel: Channel) => void) | undefined
}) {
  if (channels.length === 0) {
    return (
      <Empty title="No channel matches">Search for a part of a name, an address, a format or a model.</Empty>
    )
  }
  return (
    <ul class="columns wide">
      {channels.map(channel => (
        <li key={channel.name} class="card">
          <ChannelCard channel={channel} />
          {onAct === undefined ? null : (
            <div class="actions">
              <Button small onClick={() => onAct('test', channel)}>
                Test now<span class="unseen"> {channel.name}</span>
              </Button>
              <Button small onClick={() => onAct('edit', channel)}>
                Edit<span class="unseen"> {channel.name}</span>
              </Button>
              <Button small kind="danger" onClick={() => onAct('remove', channel)}>
                Remove<span class="unseen"> {channel.name}</span>
              </Button>
            </div>
          )}
        </li>
      ))}
    </ul>
  )
}

function RemoveChannel({
  channel: { name, models },
  onClose,
  onDone,
}: {
  channel: Channel
  onClose(): void
  onDone(): void
}) {
  const toast = useToast()
  return (
    <Confirm
      title={`Remove ${name}?`}
      verb="Remove channel"
      danger
      onClose={onClose}
      action={async () => {
        const { models_without_channel: left } = await call('DELETE /api/admin/channels/:name', {
          params: { name },
        })
        onDone()
        const alone = left.length === 0 ? '' : `; nothing serves ${left.join(', ')} now`
        toast(`The channel is removed${alone}`)
      }}
    >
      <p>Its keys are forgotten, and {counted(models.length, 'model')} can no more be served through it.</p>
    </Confirm>
  )
}

function ChannelCard({ channel }: { channel: Channel }) {
  const { health } = channel
  return (
    <>
      <div class="card-head">
        <h2>{channel.name}</h2>
        <BreakerState breaker={health.breaker} />
      </div>
      <dl class="facts">
        <Fact name="Format">{channel.format}</Fact>
        <Fact name="Address">
          <code>{channel.base_url}</code>
        </Fact>
        <Fact name="Order">
          priority {channel.priority}, weight {channel.weight}
          {channel.max_concurrent === null ? '' : `, at most ${channel.max_concurrent} at once`}
        </Fact>
        <Fact name="The last 30 s">
          {counted(health.breaker.succeeded, 'success', 'successes')},{' '}
          {counted(health.breaker.failed, 'failure')}
        </Fact>
        {health.first_byte_ms === null ? null : (
          <Fact name="First byte">after {duration(health.first_byte_ms)}</Fact>
        )}
        <Fact name="Keys">
          {channel.api_keys.length === 0 ? (
            <span class="soft">none</span>
          ) : (
            <ul class="stack tight">
              {channel.api_keys.map((key, index) => (
                <li key={key.id} class="stack tight">
                  <span class="row">
                    <code>{key.hint ?? `key ${index + 1}`}</code> <BreakerState breaker={key.breaker} />
                  </span>
                  {key.paused_models.map(({ model, breaker }) => (
                    <span key={model} class="row">
                      <span>
                        for <code>{model}</code>
                      </span>{' '}
                      <BreakerState breaker={breaker} />
                    </span>
                  ))}
                </li>
              ))}
            </ul>
          )}
        </Fact>
        <Fact name="Models">
          {channel.models.length === 0 ? (
            <a href="/admin/models?import=yes">none yet: choose some</a>
          ) : (
            <span title={channel.models.join(', ')}>
              {channel.models.slice(0, 4).join(', ')}
              {channel.models.length > 4 ? ` and ${channel.models.length - 4} more` : ''}
            </span>
          )}
        </Fact>
      </dl>
    </>
  )
}

const BREAKERS: Record<Channel['health']['breaker']['state'], { name: string; kind: BadgeKind }> = {
  closed: { name: 'In use', kind: 'good' },
  'half-open': { name: 'Being tried', kind: 'warn' },
  open: { name: 'Held back', kind: 'bad' },
}

function BreakerState({ breaker }: { breaker: Channel['health']['breaker'] }) {
  const { name, kind } = BREAKERS[breaker.state]
  return (
    <span class="row">
      <Badge kind={kind}>{name}</Badge>
      {breaker.state === 'closed' ? null : (
        <small class="soft">
          {breaker.reason ?? breaker.cause}
          {breaker.until === null ? null : (
            <>
              {' '}
              until <When iso={breaker.until} />
            </>
          )}
        </small>
      )}
    </span>
  )
}
