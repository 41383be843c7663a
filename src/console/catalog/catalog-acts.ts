import type { ChannelEntry, ModelEntry } from '@/config/entries.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Change } from '@/routing/catalog/apply.ts'
import type { Act } from '../acts.ts'
import { channelFields, hintOf, modelFields } from './catalog-rows.ts'

/** A change of a channel, for the log of acts: no key, and as little of its headers. */
export function channelAct(change: Change<ChannelEntry>): Act {
  return actOf('channel', change, entry => ({ ...channelFields(entry), api_keys: entry.apiKeys.map(hintOf) }))
}

/** A change of a model, for the log of acts. */
export function modelAct(change: Change<ModelEntry>): Act {
  return actOf('model', change, entry => ({ ...modelFields(entry), prices: entry.prices ?? null }))
}

function actOf<Entry>(
  subject: string,
  { name, before, after }: Change<Entry>,
  shown: (entry: Entry) => JsonObject,
): Act {
  const verb = before === undefined ? 'create' : after === undefined ? 'delete' : 'change'
  return {
    action: `${subject}.${verb}`,
    target: `${subject} ${name}`,
    before: before === undefined ? null : shown(before),
    after: after === undefined ? null : shown(after),
  }
}
