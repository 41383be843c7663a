import type { PriceSet, PriceTier } from '../../../api/contract/words.ts'
import { wholeNumber } from '../../format/number.ts'
import { TOKEN_PRICES, UNIT_PRICES } from '../../format/price-texts.ts'
import { Fact } from '../../parts/facts.tsx'
import { Money } from '../../parts/money.tsx'

/** The two prices that everybody asks for first. */
export function ShortPrices({ prices }: { prices: PriceSet | null }) {
  if (prices === null) return <span class="soft">No price: cannot be called</span>
  const { input, output } = prices
  if (input === undefined && output === undefined) return <FullPrices prices={prices} />
  return (
    <span class="number">
      <Money amount={input ?? '0'} /> in, <Money amount={output ?? '0'} /> out <span class="soft">per M</span>
    </span>
  )
}

/** The two, and all that are declared where there are more. */
export function FoldedPrices({ prices, of }: { prices: PriceSet | null; of: string }) {
  const { input, output, ...others } = prices ?? {}
  const isShort = input !== undefined || output !== undefined
  return (
    <>
      <ShortPrices prices={prices} />
      {prices !== null && isShort && Object.keys(others).length > 0 ? (
        <details>
          <summary>
            All<span class="unseen"> prices of {of}</span>
          </summary>
          <FullPrices prices={prices} />
        </details>
      ) : null}
    </>
  )
}

/** Every price that is declared. */
export function FullPrices({ prices }: { prices: PriceSet }) {
  const { per_image = {}, tiers = [], service_tiers = {} } = prices
  return (
    <dl class="facts">
      {TOKEN_PRICES.map(({ name, label }) => {
        const price = prices[name]
        return price === undefined ? null : (
          <Fact key={name} name={label}>
            <Money amount={price} /> <span class="soft">per M tokens</span>
          </Fact>
        )
      })}
      {UNIT_PRICES.map(({ name, label, unit }) => {
        const price = prices[name]
        return price === undefined ? null : (
          <Fact key={name} name={label}>
            <Money amount={price} /> <span class="soft">{unit}</span>
          </Fact>
        )
      })}
      {Object.entries(per_image).map(([size, price]) => (
        <Fact key={size} name={size === 'default' ? 'Image' : `Image ${size}`}>
          <Money amount={price} /> <span class="soft">each</span>
        </Fact>
      ))}
      {tiers.map(tier => (
        <OtherPrices key={tier.above_input_tokens} of={longPrompts(tier)} prices={tier} />
      ))}
      {Object.entries(service_tiers).map(([name, own]) => (
        <>
          <OtherPrices of={`Service tier ${name}`} prices={own} />
          {own.tiers?.map(tier => (
            <OtherPrices key={tier.above_input_tokens} of={`${name}, ${longPrompts(tier)}`} prices={tier} />
          ))}
        </>
      ))}
    </dl>
  )
}

function longPrompts({ above_input_tokens }: PriceTier): string {
  return `Above ${wholeNumber(above_input_tokens)} input tokens`
}

/** Token prices that hold in place of the model's own. */
function OtherPrices({ of, prices }: { of: string; prices: Omit<PriceTier, 'above_input_tokens'> }) {
  return (
    <Fact name={of}>
      {TOKEN_PRICES.map(({ name, label }) => {
        const price = prices[name]
        return price === undefined ? null : (
          <div key={name}>
            {label} <Money amount={price} /> <span class="soft">per M tokens</span>
          </div>
        )
      })}
    </Fact>
  )
}
