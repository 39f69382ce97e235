/** The options of routes that show or cancel the tasks of an account in all dialects. */

const ACCOUNT_VIEWS = [
  'account-list',
  'account-events',
  'account-task',
  'account-content',
  'account-cancel',
] as const
export interface AccountOptions {
  readonly view: (typeof ACCOUNT_VIEWS)[number]
}
export const ACCOUNT_SCHEMA = {
  description: 'The route shows or cancels tasks of the account, whichever route created them.',
  type: 'object',
  required: ['view'],
  additionalProperties: false,
  properties: {
    view: {
      description: 'What the route does.',
      enum: ACCOUNT_VIEWS,
      examples: ['account-list'],
    },
  },
  examples: [{ view: 'account-list' }],
}
export const isAccountView = (options: { readonly view: string }): options is AccountOptions =>
  (ACCOUNT_VIEWS as readonly string[]).includes(options.view)
