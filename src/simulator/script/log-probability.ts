/** A made-up but stable log probability: always below zero, and lower for each further alternative. */
export function logProbability(token: string, rank = 0): number {
  return -((Number(Bun.hash(token) % 97n) + 1) / 100) - rank
}

/** The token itself and made-up alternatives behind it. */
export function alternatives(token: string, wanted: number) {
  return Array.from({ length: wanted }, (_, rank) =>
    entry(rank === 0 ? token : `${token}~${rank}`, logProbability(token, rank)),
  )
}

/** OpenAI's shape of a token with its alternatives, in both of its formats. */
export function openaiLogprob(token: string, wanted: number) {
  return { ...entry(token, logProbability(token)), top_logprobs: alternatives(token, wanted) }
}

function entry(token: string, logprob: number) {
  return { token, logprob, bytes: [...Buffer.from(token)] }
}
