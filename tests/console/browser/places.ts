/** Every page of the console, and the dialogs that its address opens. */
export interface Place {
  name: string
  path: string
  /** What is there once it is whole. */
  heading: string
  /** A dialog lies over it. */
  isDialog?: boolean
}

/** What one sees before signing in. */
export const GATES: readonly Place[] = [
  { name: 'sign-in', path: '/sign-in', heading: 'Sign in' },
  { name: 'sign-up', path: '/sign-up', heading: 'Create an account' },
  { name: 'forgotten', path: '/forgotten', heading: 'New password' },
  { name: 'dead-link', path: '/link#nothing', heading: 'This link does not work' },
]

export const HOLDER_PLACES: readonly Place[] = [
  { name: 'overview', path: '/', heading: 'Overview' },
  { name: 'keys', path: '/keys', heading: 'Keys' },
  { name: 'key-create', path: '/keys?new=yes', heading: 'Create a key', isDialog: true },
  { name: 'key-use', path: '/keys?use=yes', heading: 'Use a key', isDialog: true },
  { name: 'requests', path: '/requests', heading: 'Requests' },
  { name: 'billing', path: '/billing', heading: 'Billing' },
  { name: 'playground', path: '/playground', heading: 'Playground' },
  { name: 'models', path: '/models', heading: 'Models' },
  { name: 'settings', path: '/settings', heading: 'Settings' },
  { name: 'nowhere', path: '/nowhere', heading: 'There is no such page' },
]

/** `model` and `accountId` are those of something that is there. */
export function administratorPlaces(model: string, accountId: number): Place[] {
  return [
    { name: 'all-requests', path: '/admin/traffic', heading: 'All requests' },
    { name: 'accounts', path: '/admin/accounts', heading: 'Accounts' },
    { name: 'account-create', path: '/admin/accounts?new=yes', heading: 'New account', isDialog: true },
    {
      name: 'accounts-create',
      path: '/admin/accounts?new=many',
      heading: 'Several accounts',
      isDialog: true,
    },
    { name: 'account', path: `/admin/accounts/${accountId}`, heading: 'Usage' },
    { name: 'users', path: '/admin/users', heading: 'Users' },
    { name: 'channels', path: '/admin/channels', heading: 'Channels' },
    { name: 'channel-create', path: '/admin/channels?new=yes', heading: 'Add a channel', isDialog: true },
    { name: 'models-and-prices', path: '/admin/models', heading: 'Models and prices' },
    {
      name: 'catalogue',
      path: '/admin/models?import=yes',
      heading: 'Choose models from the catalogue',
      isDialog: true,
    },
    { name: 'model-create', path: '/admin/models?new=yes', heading: 'Add a model', isDialog: true },
    { name: 'model', path: `/admin/models/${encodeURIComponent(model)}`, heading: 'Prices in force' },
    { name: 'redeem-codes', path: '/admin/redeem-codes', heading: 'Redeem codes' },
    { name: 'ledger-audit', path: '/admin/audit', heading: 'Ledger audit' },
    { name: 'system', path: '/admin/system', heading: 'System' },
    { name: 'audit-log', path: '/admin/log', heading: 'Audit log' },
  ]
}
