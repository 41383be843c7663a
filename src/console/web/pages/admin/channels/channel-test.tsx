import { useEffect, useState } from 'preact/hooks'
import type { Channel, Vendor } from '../../../../api/contract/admin-catalog.ts'
import type { ConsoleOutput } from '../../../../api/contract/api.ts'
import { useAction } from '../../../api/action.ts'
import { call } from '../../../api/client.ts'
import { duration } from '../../../format/time.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { TextField } from '../../../parts/field.tsx'
import { Form } from '../../../parts/form.tsx'
import { Badge, Notice } from '../../../parts/notice.tsx'

type Result = ConsoleOutput<'POST /api/admin/channels/:name/test'>

/** Sends one small real request with each key of a channel. After adding one it also says what comes next. */
export function TestDialog({
  channel,
  vendor,
  isNew,
  onClose,
}: {
  channel: Channel
  vendor: Vendor | undefined
  isNew: boolean
  onClose(): void
}) {
  const [model, setModel] = useState(vendor?.models[0]?.id ?? '')
  const [result, setResult] = useState<Result>()
  const test = useAction(async () => {
    setResult(undefined)
    setResult(
      await call('POST /api/admin/channels/:name/test', {
        params: { name: channel.name },
        body: { model: model.trim() || undefined },
      }),
    )
  })
  const hasRoute = channel.models.length > 0
  const { run } = test
  useEffect(() => {
    if (hasRoute) void run()
  }, [hasRoute, run])
  return (
    <Dialog title={isNew ? `${channel.name} is added` : `Test ${channel.name}`} onClose={onClose}>
      <Form action={test} verb={result === undefined ? 'Test now' : 'Test again'}>
        <p>One small request with each of its keys, to the vendor itself.</p>
        <TextField
          label="Model"
          optional={hasRoute}
          spellcheck={false}
          hint={hasRoute ? 'Left empty: a model that is served through it.' : 'As the vendor calls it.'}
          value={model}
          onValue={setModel}
          error={test.errorOf('model')}
        />
      </Form>
      <div role="status">{result === undefined ? null : <Results result={result} channel={channel} />}</div>
      {isNew ? (
        <Notice kind="good">
          <span>Next: choose which models your callers may use, and what they cost.</span>
          <a
            class="button primary"
            href={`/admin/models?import=yes&channel=${encodeURIComponent(channel.name)}${
              vendor === undefined ? '' : `&vendor=${encodeURIComponent(vendor.name)}`
            }`}
          >
            Choose models
          </a>
        </Notice>
      ) : (
        <div class="dialog-foot">
          <Button onClick={onClose}>Close</Button>
        </div>
      )}
    </Dialog>
  )
}

function Results({ result, channel }: { result: Result; channel: Channel }) {
  return (
    <ul class="stack tight">
      {result.items.map((item, index) => {
        const key = channel.api_keys.find(({ id }) => id === item.key_id)
        return (
          <li key={item.key_id ?? index} class="stack tight">
            <span class="row">
              <Badge kind={item.ok ? 'good' : 'bad'}>{item.ok ? 'Works' : 'Fails'}</Badge>
              <code>{key?.hint ?? `key ${index + 1}`}</code>
              <span class="soft number">
                {item.status === null ? '' : `${item.status}, `}
                {duration(item.ms)}
              </span>
            </span>
            {item.message === '' ? null : <p class="soft">{item.message}</p>}
          </li>
        )
      })}
    </ul>
  )
}
