import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Code, CopyButton } from '../parts/copy.tsx'
import { Icon } from '../parts/icon.tsx'
import { useMayAdminister, useSession } from '../session.tsx'
import { snippets } from '../stream/snippets.ts'

const PUT_AWAY = 'first-steps-put-away'

/** What is to be done first, by an administrator or an account holder, until all of it is done or they put it away. */
export function FirstSteps() {
  const [isPutAway, setPutAway] = useState(() => localStorage.getItem(PUT_AWAY) !== null)
  const mayAdminister = useMayAdminister()
  if (isPutAway) return null
  const close = () => {
    localStorage.setItem(PUT_AWAY, 'yes')
    setPutAway(true)
  }
  return mayAdminister ? <AdministratorSteps onClose={close} /> : <HolderSteps onClose={close} />
}

function AdministratorSteps({ onClose }: { onClose(): void }) {
  const found = useQuery('first steps', lookAtGateway)
  if (found.data === undefined) return null
  const { hasKey, hasRequest } = found.data
  const steps = [...gatewaySteps(found.data), createKey(hasKey), askSomething(hasRequest)]
  return <Steps lead="Four steps, about two minutes." steps={steps} onClose={onClose} />
}

/** An account holder is one key and one copied request away. */
function HolderSteps({ onClose }: { onClose(): void }) {
  const { deployment } = useSession()
  const found = useQuery('first steps', lookAtAccount)
  if (found.data === undefined) return null
  const { hasKey, hasRequest, models } = found.data
  const [curl] = snippets({ apiUrl: deployment.api_url, key: 'YOUR_KEY', models })
  return (
    <Steps
      lead="Two steps, about a minute."
      steps={[createKey(hasKey), askSomething(hasRequest)]}
      onClose={onClose}
    >
      {!hasKey || curl === undefined ? null : (
        <div class="stack tight">
          <p class="soft">With your key in the place of YOUR_KEY:</p>
          <Code text={curl.text} what="the first request" />
        </div>
      )}
      <div class="row">
        <span class="soft">The address for your programs</span> <code>{deployment.api_url}/v1</code>
        <CopyButton text={`${deployment.api_url}/v1`} what="the address" />
      </div>
      <p class="soft">
        The SDKs of Anthropic and Google want it without <code>/v1</code>.{' '}
        <a href="/keys?use=yes">What to paste into each client</a>
      </p>
    </Steps>
  )
}

interface Step {
  isDone: boolean
  name: string
  why: string
  /** Where it is done, and what leads there is called if not as the step. */
  href: string
  verb?: string
}

function Steps({
  lead,
  steps,
  onClose,
  children,
}: {
  lead: string
  steps: readonly Step[]
  onClose(): void
  children?: ComponentChildren
}) {
  if (steps.every(({ isDone }) => isDone)) return null
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <section class="card" aria-labelledby="first-steps">
      <div class="card-head">
        <div>
          <h2 id="first-steps">From here to your first answer</h2>
          <p>{lead}</p>
        </div>
        <Button kind="quiet" small onClick={onClose}>
          Put away
        </Button>
      </div>
      <ol class="steps">
        {steps.map((step, index) => (
          <li key={step.name} class={`step ${step.isDone ? 'done' : step === next ? 'next' : ''}`}>
            <span class="step-mark">
              {step.isDone ? <Icon name="check" size={16} /> : index + 1}
              {step.isDone ? <span class="unseen">Done:</span> : null}
            </span>
            <div>
              <h3>{step.name}</h3>
              <p class="soft">{step.why}</p>
            </div>
            {step === next ? (
              <a class="button primary" href={step.href}>
                {step.verb ?? step.name}
              </a>
            ) : null}
          </li>
        ))}
      </ol>
      {children}
    </section>
  )
}

/** The channels of the built-in simulator are there to play with; they are nobody's vendor. */
const SIMULATOR = 'simulator:'

async function lookAtGateway(signal: AbortSignal) {
  const [channels, models, own] = await Promise.all([
    call('GET /api/admin/channels', {}, signal),
    call('GET /api/admin/models', {}, signal),
    lookAtOwn(signal),
  ])
  const vendors = channels.items.filter(({ base_url }) => base_url !== SIMULATOR).map(({ name }) => name)
  return {
    ...own,
    hasChannel: vendors.length > 0,
    hasModel: models.items.some(
      model => model.prices !== null && model.channels.some(({ channel }) => vendors.includes(channel)),
    ),
  }
}

async function lookAtAccount(signal: AbortSignal) {
  const [models, own] = await Promise.all([call('GET /api/models', {}, signal), lookAtOwn(signal)])
  return { ...own, models: models.items }
}

async function lookAtOwn(signal: AbortSignal) {
  const [keys, requests] = await Promise.all([
    call('GET /api/keys', { query: { status: 'active' } }, signal),
    call('GET /api/requests', { query: { limit: 1, status: '2xx' } }, signal),
  ])
  return {
    hasKey: keys.items.some(({ status }) => status !== 'expired'),
    hasRequest: requests.items.length > 0,
  }
}

function gatewaySteps({ hasChannel, hasModel }: { hasChannel: boolean; hasModel: boolean }): Step[] {
  return [
    {
      isDone: hasChannel,
      name: 'Add a channel',
      why: 'A vendor and your key there. The key is encrypted and never shown again.',
      href: '/admin/channels?new=yes',
    },
    {
      isDone: hasModel,
      name: 'Choose models and prices',
      why: 'From the catalogue at list price, or by hand. A model without a price cannot be called.',
      href: '/admin/models?import=yes',
      verb: 'Choose models',
    },
  ]
}

function createKey(isDone: boolean): Step {
  return {
    isDone,
    name: 'Create a key',
    why: 'It works with every SDK: only the address and the key change.',
    href: '/keys?new=yes',
  }
}

function askSomething(isDone: boolean): Step {
  return {
    isDone,
    name: 'Ask something',
    why: 'In the playground, or with your key. What it cost is on its receipt.',
    href: '/playground',
    verb: 'Open the playground',
  }
}
