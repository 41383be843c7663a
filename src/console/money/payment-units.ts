/** Digits behind the point of the smallest unit that Stripe counts in (docs.stripe.com/currencies); 2 for all others. */
const DIGITS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map(currency => [currency, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map(currency => [currency, 3])),
}

/** Digits behind the point that a payment may have, where they are less than those that Stripe counts in. */
const PAYABLE_DIGITS: Readonly<Record<string, number>> = {
  // Counted in hundredths that are always 00.
  ...{ isk: 0, ugx: 0 },
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map(currency => [currency, 2])),
}

/** Nano units in the smallest unit that Stripe counts in. */
export function unitNano(currency: string): bigint {
  return 10n ** BigInt(9 - digitsOf(currency))
}

/** Nano units in the smallest amount that can be paid. */
export function payableNano(currency: string): bigint {
  return 10n ** BigInt(9 - (PAYABLE_DIGITS[currency.toLowerCase()] ?? digitsOf(currency)))
}

function digitsOf(currency: string): number {
  return DIGITS[currency.toLowerCase()] ?? 2
}
