/** The options of routes that show or cancel the tasks of an account in all dialects. */
import { object, oneOf, type RawOf, required } from '../../../engine/config/shape.ts'

const ACCOUNT_VIEWS = [
  'account-list',
  'account-events',
  'account-task',
  'account-content',
  'account-cancel',
] as const
export const ACCOUNT = object(
  'The route shows or cancels tasks of the account, whichever route created them.',
  { view: required(oneOf('What the route does.', ACCOUNT_VIEWS, { examples: ['account-list'] })) },
  { examples: [{ view: 'account-list' }] },
)
export type AccountOptions = RawOf<typeof ACCOUNT>
export const isAccountView = (options: { readonly view: string }): options is AccountOptions =>
  (ACCOUNT_VIEWS as readonly string[]).includes(options.view)
