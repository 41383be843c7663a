import { isDeepStrictEqual } from 'node:util'
import type { ConfigFile, ConsoleEntry } from '@/config/entries.ts'
import type { Database } from '@/db/connect.ts'
import type { JsonObject } from '@/json/json.ts'
import { type ApplyOptions, type ApplyResult, applyIn } from '@/routing/catalog/apply.ts'
import type { Defaults } from '@/routing/catalog/defaults.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { limitsRow } from '../accounts/key-rows.ts'
import { type Act, type Actor, writeAct } from '../acts.ts'
import { loadConsoleEntry, writeConsoleEntry } from '../console-entry.ts'
import { channelAct, modelAct } from './catalog-acts.ts'

/** Whoever writes the operator's file: it is applied by whichever process reads it first. */
const FILE: Actor = { userId: null, email: 'tollgate.yaml', ip: undefined }

/**
 * Brings the deployment to what the file says, in one transaction, and writes down what that changed. Applying the same
 * file again changes nothing.
 * @throws Refusal if the file contradicts what stays in the database
 */
export function applyFile(
  { orm }: Database,
  secretBox: SecretBox,
  file: ConfigFile,
  options: ApplyOptions,
): Promise<ApplyResult> {
  return orm.transaction(async tx => {
    const applied = await applyIn(tx, secretBox, file, options)
    if (options.dryRun) return applied
    const before = await writeConsoleEntry(tx, secretBox, file.console, options.prune)
    const after = await loadConsoleEntry(tx, secretBox)
    const acts = [
      ...applied.channels.map(channelAct),
      ...applied.models.map(modelAct),
      ...(applied.defaults === undefined ? [] : [defaultsAct(applied.defaults)]),
      ...(isDeepStrictEqual(before, after) ? [] : [consoleAct(before, after)]),
    ]
    for (const act of acts) await writeAct(tx, FILE, act)
    return applied
  })
}

function defaultsAct({ before, after }: { before: Defaults; after: Defaults }): Act {
  return { action: 'settings.change', target: 'settings', before: shown(before), after: shown(after) }
}

function shown({ limits, fetchMedia, operatorHeaders, trialCredit, currency }: Defaults): JsonObject {
  return {
    limits: {
      account: limitsRow(limits.account),
      key: limitsRow(limits.key),
      account_model: limitsRow(limits.accountModel),
      model: limitsRow(limits.model),
      on_redis_down: limits.onRedisDown,
    },
    fetch_media: fetchMedia,
    operator_headers: operatorHeaders,
    trial_credit: trialCredit,
    currency,
  }
}

function consoleAct(before: ConsoleEntry, after: ConsoleEntry): Act {
  return {
    action: 'settings.console',
    target: 'settings',
    before: shownConsole(before),
    after: shownConsole(after),
  }
}

/** Of the password and the keys of Stripe, whether they are there. */
function shownConsole({ signup, showChannels, smtp, stripe }: ConsoleEntry): JsonObject {
  const { host, port, secure, user, from } = smtp ?? {}
  return {
    signup,
    show_channels: showChannels,
    smtp: smtp === undefined ? null : { host, port, secure, user: user ?? null, from },
    stripe: stripe !== undefined,
  }
}
