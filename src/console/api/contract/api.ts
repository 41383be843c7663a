import { adminAccountRoutes, adminKeyRoutes, adminRequestRoutes } from './admin-accounts.ts'
import { adminChannelRoutes, adminModelRoutes } from './admin-catalog.ts'
import { adminLedgerRoutes } from './admin-ledger.ts'
import { adminLinkRoutes } from './admin-links.ts'
import { adminUserRoutes } from './admin-users.ts'
import { billingRoutes } from './billing.ts'
import { keyRoutes } from './keys.ts'
import { modelRoutes } from './models.ts'
import { requestRoutes } from './requests.ts'
import type { Input, Output } from './route.ts'
import { linkRoutes, meRoutes, sessionRoutes } from './session.ts'
import { usageRoutes } from './usage.ts'

/** Every route of the console's API. */
export const consoleRoutes = {
  ...sessionRoutes,
  ...linkRoutes,
  ...meRoutes,
  ...keyRoutes,
  ...usageRoutes,
  ...requestRoutes,
  ...billingRoutes,
  ...modelRoutes,
  ...adminAccountRoutes,
  ...adminKeyRoutes,
  ...adminRequestRoutes,
  ...adminUserRoutes,
  ...adminLinkRoutes,
  ...adminChannelRoutes,
  ...adminModelRoutes,
  ...adminLedgerRoutes,
}

/**
 * For a typed client: `import type { ConsoleApi, ConsoleInput, ConsoleOutput } from '../api/contract/api.ts'`. Types
 * only, so that no schema gets into the page.
 */
export type ConsoleApi = typeof consoleRoutes
export type ConsoleInput<Name extends keyof ConsoleApi> = Sent<Input<ConsoleApi[Name]>>
export type ConsoleOutput<Name extends keyof ConsoleApi> = Output<ConsoleApi[Name]>

/** What may be left out may as well be undefined: an address and JSON have no word for it. */
type Sent<Value> = Value extends readonly (infer Item)[]
  ? Sent<Item>[]
  : Value extends object
    ? { [Name in keyof Value]: Sent<Value[Name]> | UndefinedIfOptional<Value, Name> }
    : Value
type UndefinedIfOptional<Value, Name extends keyof Value> =
  Partial<Pick<Value, Name>> extends Pick<Value, Name> ? undefined : never
