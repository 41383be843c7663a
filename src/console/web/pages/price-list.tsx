import type { Prices } from '../../api/contract/words.ts'
import { wholeNumber } from '../format/number.ts'
import { Money } from '../parts/money.tsx'

/** The token prices, in the order people read them; per million tokens. */
export const TOKEN_PRICES = [
  { name: 'input', label: 'Input' },
  { name: 'output', label: 'Output' },
  { name: 'cached_input', label: 'Cached input' },
  { name: 'cache_write_5m', label: 'Cache write, 5 min' },
  { name: 'cache_write_1h', label: 'Cache write, 1 h' },
  { name: 'reasoning', label: 'Reasoning' },
  { name: 'input_audio', label: 'Audio in' },
  { name: 'output_audio', label: 'Audio out' },
] as const

export type TokenPriceName = (typeof TOKEN_PRICES)[number]['name']

/** The two prices that everybody asks for first. */
export function ShortPrices({ prices }: { prices: Prices | null }) {
  if (prices === null) return <span class="soft">No price: cannot be called</span>
  const { input, output } = prices
  if (input === undefined && output === undefined) return <FullPrices prices={prices} />
  return (
    <span class="number">
      <Money amount={input ?? '0'} /> in, <Money amount={output ?? '0'} /> out <span class="soft">per M</span>
    </span>
  )
}

/** Every price that is declared. */
export function FullPrices({ prices }: { prices: Prices }) {
  const { per_request, per_video_second, per_image = {}, tiers = [] } = prices
  return (
    <dl class="facts">
      {TOKEN_PRICES.map(({ name, label }) => {
        const price = prices[name]
        return price === undefined ? null : (
          <>
            <dt>{label}</dt>
            <dd>
              <Money amount={price} /> <span class="soft">per M tokens</span>
            </dd>
          </>
        )
      })}
      {per_request === undefined ? null : (
        <>
          <dt>Request</dt>
          <dd>
            <Money amount={per_request} /> <span class="soft">each</span>
          </dd>
        </>
      )}
      {Object.entries(per_image).map(([size, price]) => (
        <>
          <dt>Image {size}</dt>
          <dd>
            <Money amount={price} /> <span class="soft">each</span>
          </dd>
        </>
      ))}
      {per_video_second === undefined ? null : (
        <>
          <dt>Video</dt>
          <dd>
            <Money amount={per_video_second} /> <span class="soft">per second</span>
          </dd>
        </>
      )}
      {tiers.map(tier => (
        <>
          <dt>Above {wholeNumber(tier.above_input_tokens)} tokens</dt>
          <dd>
            {TOKEN_PRICES.flatMap(({ name, label }) => {
              const price = tier[name]
              return price === undefined
                ? []
                : [
                    <div key={name}>
                      {label} <Money amount={price} />
                    </div>,
                  ]
            })}
          </dd>
        </>
      ))}
    </dl>
  )
}
