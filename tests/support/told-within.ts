/** Much less than the 24 s for which a gateway believes a key at the least without being told that it changed. */
export const TOLD_WITHIN_MS = 20_000
