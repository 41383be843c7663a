import type { Account } from '@/accounts/account.ts'
import type { Surface } from '@/generation/surface.ts'
import { SURFACES } from '@/generation/surface.ts'
import type { Catalog, Model } from '@/routing/model.ts'

/** What an account may call: what everybody may, and what it was given (exchange/admission.ts decides by the same). */
export function reachedModels(catalog: Catalog, { models }: Pick<Account, 'models'>): Model[] {
  return catalog.list().filter(({ id, enabledByDefault }) => enabledByDefault || models.includes(id))
}

/** Conversations go to a channel of any format; the other surfaces are OpenAI's, so that its models say which. */
const CONVERSATIONS: readonly Surface[] = ['chat', 'responses', 'messages', 'gemini']

/** Where a model can be called: where the operator says, else wherever its prices say what it would cost. */
export function surfacesOf({ surfaces, price }: Model): Surface[] {
  if (surfaces !== undefined) return [...surfaces]
  const rates = price?.rates
  const makesImages = (rates?.perImage.size ?? 0) > 0
  const makesVideos = rates?.perVideoSecond !== undefined
  const answers = rates?.tokens.output !== undefined
  const speaks = rates?.perAudioSecond !== undefined || rates?.perCharacter !== undefined
  return SURFACES.filter(surface => {
    if (CONVERSATIONS.includes(surface)) return answers
    if (surface === 'images') return makesImages
    if (surface === 'videos') return makesVideos
    if (surface === 'audio') return speaks
    return surface === 'embeddings' && rates?.tokens.input !== undefined && !answers
  })
}
