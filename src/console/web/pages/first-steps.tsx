import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useMayAdminister } from '../session.tsx'

const PUT_AWAY = 'first-steps-put-away'

/** What an administrator of a new gateway does first, until all of it is done or they put it away. */
export function FirstSteps() {
  const [isPutAway, setPutAway] = useState(() => localStorage.getItem(PUT_AWAY) !== null)
  if (!useMayAdminister() || isPutAway) return null
  return (
    <Steps
      onClose={() => {
        localStorage.setItem(PUT_AWAY, 'yes')
        setPutAway(true)
      }}
    />
  )
}

interface Step {
  isDone: boolean
  name: string
  why: string
  action: ComponentChildren
}

function Steps({ onClose }: { onClose(): void }) {
  const found = useQuery('first steps', look)
  if (found.data === undefined) return null
  const steps = stepsOf(found.data)
  if (steps.every(({ isDone }) => isDone)) return null
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <section class="card" aria-labelledby="first-steps">
      <div class="card-head">
        <div>
          <h2 id="first-steps">From here to your first answer</h2>
          <p>Four steps, about two minutes.</p>
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
            {step === next ? step.action : null}
          </li>
        ))}
      </ol>
    </section>
  )
}

interface Found {
  hasChannel: boolean
  hasModel: boolean
  hasKey: boolean
  hasRequest: boolean
}

/** The channels of the built-in simulator are there to play with; they are nobody's vendor. */
const SIMULATOR = 'simulator:'

async function look(signal: AbortSignal): Promise<Found> {
  const [channels, models, keys, requests] = await Promise.all([
    call('GET /api/admin/channels', {}, signal),
    call('GET /api/admin/models', {}, signal),
    call('GET /api/keys', { query: { limit: 1 } }, signal),
    call('GET /api/requests', { query: { limit: 1, status: '2xx' } }, signal),
  ])
  const own = channels.items.filter(({ base_url }) => base_url !== SIMULATOR).map(({ name }) => name)
  return {
    hasChannel: own.length > 0,
    hasModel: models.items.some(
      model => model.prices !== null && model.channels.some(({ channel }) => own.includes(channel)),
    ),
    hasKey: keys.items.length > 0,
    hasRequest: requests.items.length > 0,
  }
}

function stepsOf({ hasChannel, hasModel, hasKey, hasRequest }: Found): Step[] {
  return [
    {
      isDone: hasChannel,
      name: 'Add a channel',
      why: 'A vendor and your key there. The key is encrypted and never shown again.',
      action: (
        <a class="button primary" href="/admin/channels?new=yes">
          Add a channel
        </a>
      ),
    },
    {
      isDone: hasModel,
      name: 'Choose models and prices',
      why: 'From the catalogue at list price, or by hand. A model without a price cannot be called.',
      action: (
        <a class="button primary" href="/admin/models?import=yes">
          Choose models
        </a>
      ),
    },
    {
      isDone: hasKey,
      name: 'Create a key',
      why: 'It works with every SDK: only the address and the key change.',
      action: (
        <a class="button primary" href="/keys?new=yes">
          Create a key
        </a>
      ),
    },
    {
      isDone: hasRequest,
      name: 'Ask something',
      why: 'In the playground, or with your key. What it cost is on its receipt.',
      action: (
        <a class="button primary" href="/playground">
          Open the playground
        </a>
      ),
    },
  ]
}
