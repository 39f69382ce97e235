/** Every view of the console: pages, dialogs, and what is in place of data. */
import type { Page, Route } from 'playwright-core'
import { scaled } from '../machine-speed.ts'
import type { Window } from './browser.ts'
import type { SampleGateway } from './sample-gateway.ts'

/** `newcomer`: a customer without data; `visitor`: not signed in. */
export type Role = 'customer' | 'operator' | 'newcomer' | 'visitor'
export interface View {
  readonly name: string
  readonly role: Role
  readonly address: string
  /** In place of data. */
  readonly state?: 'loading' | 'failed' | 'empty'
  /** After the page is shown: opens a dialog, fills a form. */
  act?(page: Page): Promise<void>
}

const press =
  (...names: readonly string[]) =>
  async (page: Page): Promise<void> => {
    for (const name of names) {
      const button = page.getByRole('button', { name, exact: true }).first()
      const more = page.getByRole('button', { name: /^Actions of/ }).first()
      // Where the screen is narrow, one button lists the actions of a row.
      await button.or(more).first().waitFor()
      if (!(await button.isVisible())) await more.click()
      await button.click()
    }
    await page.getByRole('dialog').waitFor()
  }
/** Presses a button of a row, or of the list of its actions. */
const pressInTable =
  (name: string) =>
  async (page: Page): Promise<void> => {
    const table = page.locator('table')
    const button = table.getByRole('button', { name, exact: true }).first()
    const more = table.getByRole('button', { name: /^Actions of/ }).first()
    await button.or(more).first().waitFor()
    if (await button.isVisible()) return button.click()
    await more.click()
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog').getByLabel('Requests').waitFor()
  }
/** Presses a button that only narrow screens have. */
const openIfNarrow =
  (name: string | RegExp) =>
  async (page: Page): Promise<void> => {
    const button = page.getByRole('button', { name }).first()
    if (await button.isVisible()) await button.click()
  }
/** Opens a dialog and submits what the API refuses. */
const refuse =
  (open: string, field: RegExp, value: string) =>
  async (page: Page): Promise<void> => {
    await press(open)(page)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(field).fill(value)
    await dialog.getByRole('button', { name: open }).click()
    await dialog.getByRole('alert').first().waitFor()
  }

const CUSTOMER_PAGES = [
  'overview',
  'keys',
  'usage',
  'usage?by=day',
  'usage?by=model',
  'usage?by=key',
  'usage?by=member',
  'usage?by=tag',
  'usage?by=model&tag=project=alpha',
  'team',
  'member/1',
  'member/99',
  'usage?state=failed',
  'tasks',
  'files',
  'batches',
  'models',
  'api',
  'api/chat',
  'api/nothing',
  'playground',
  'playground?format=video',
  'notifications',
  'personal',
  'call/nothing',
  'task/nothing',
  'nowhere',
]
const OPERATOR_PAGES = [
  'accounts',
  'accounts?search=nobody',
  'account/2',
  'account/3',
  'account/99',
  'traffic',
  'traffic?by=hour&since=30d',
  'traffic?by=account',
  'traffic?by=rule',
  'traffic?by=cache',
  'traffic?by=guard',
  'live',
  'ledger',
  'ledger?account=3',
  'ledger?uncollected=yes',
  'ledger?view=audit',
  'ledger?view=failed',
  'ledger?view=tasks',
  'upstreams',
  'upstreams?search=nothing',
  'routes',
  'routes?search=nothing',
  'routes/chat',
  'routes/nothing',
  'configuration',
  'configuration?version=2',
  'editor',
  'editor?file=notes.yaml',
  'deliveries',
  'actions',
  'alerts',
  'deliveries?state=failed',
  'call/nothing',
]
const EMPTY_PAGES = ['overview', 'usage', 'tasks', 'files', 'batches', 'notifications']
const EMPTY_OPERATOR_PAGES = ['live', 'ledger', 'ledger?view=tasks', 'deliveries']
const LOADED_PAGES: Readonly<Record<'customer' | 'operator', readonly string[]>> = {
  customer: ['overview', 'usage', 'models', 'notifications'],
  operator: [
    'accounts',
    'account/2',
    'live',
    'ledger',
    'upstreams',
    'routes',
    'configuration',
    'alerts',
  ],
}

const nameOf = (address: string): string =>
  address
    .replace(/\W+/g, '-')
    .replace(/-[0-9a-f]{12,}|-\d{10,}/g, '')
    .replace(/^-|-$/g, '')

const pageViews = (role: Role, addresses: readonly string[], state?: View['state']) =>
  addresses.map(
    (address): View => ({
      role,
      address,
      name: `${role}-${nameOf(address)}${state ? `-${state}` : ''}`,
      ...(state && { state }),
    }),
  )
const dialog = (role: Role, address: string, name: string, act: View['act']): View => ({
  role,
  address,
  name: `${role}-${nameOf(address)}-${name}`,
  ...(act && { act }),
})

export const viewsOf = ({ call, failedCall, task }: SampleGateway): readonly View[] => [
  ...pageViews('visitor', ['']),
  ...pageViews('customer', CUSTOMER_PAGES),
  ...pageViews('newcomer', EMPTY_PAGES),
  ...pageViews('newcomer', ['keys'], 'empty'),
  { role: 'customer', address: `call/${call}`, name: 'customer-receipt' },
  { role: 'customer', address: `task/${task}`, name: 'customer-task' },
  dialog('customer', 'overview', 'keyboard', async page => {
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
  }),
  dialog('customer', 'overview', 'tables', async page => {
    const buttons = page.getByRole('button', { name: 'Table', exact: true })
    while ((await buttons.count()) > 0) await buttons.first().click()
  }),
  dialog('newcomer', 'overview', 'first-call', async page => {
    await press('Create a key and make your first call')(page)
    await page.locator('[data-snippet]').waitFor()
  }),
  dialog('customer', 'keys', 'create', refuse('Create a key', /^Name/, 'bad <name>')),
  dialog('customer', 'keys', 'created', async page => {
    await press('Create a key')(page)
    await page.getByLabel('Name').fill('shown once')
    await page.getByRole('dialog').getByRole('button', { name: 'Create a key' }).click()
    await page.locator('[data-secret]').waitFor()
  }),
  dialog('customer', 'keys', 'edit', press('Edit')),
  dialog('customer', 'team', 'invite', press('Invite a member')),
  dialog('customer', 'team', 'edit', press('Edit')),
  dialog('customer', 'team', 'link', press('Sign-in link')),
  dialog('customer', 'team', 'remove', press('Remove')),
  dialog('customer', 'keys', 'rotate', press('Rotate')),
  dialog('customer', 'keys', 'revoke', press('Revoke')),
  dialog('customer', 'files', 'upload', press('Upload a file')),
  dialog('customer', 'files', 'delete', press('Delete')),
  dialog('customer', 'batches', 'create', press('Create a batch')),
  dialog('customer', 'personal', 'create', press('Create a system token')),
  dialog('customer', 'personal', 'sign-out', async page => {
    await page.locator('main').getByRole('button', { name: 'Sign out' }).first().click()
    await page.getByRole('dialog').waitFor()
  }),
  dialog('customer', 'notifications', 'secret', press('Rotate secret')),
  dialog('customer', 'notifications', 'refused', async page => {
    await page.getByLabel('Webhook URL').fill('http://example.com/')
    await page.getByRole('button', { name: 'Save and test' }).click()
    await page.locator('.field-error').waitFor()
  }),
  dialog('customer', 'playground', 'answer', async page => {
    await page.getByLabel('Message').fill('Say hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('[data-charge]').getByText('CNY').waitFor()
  }),
  dialog('customer', 'playground', 'menu', openIfNarrow('More')),
  ...pageViews('operator', OPERATOR_PAGES),
  ...pageViews('operator', EMPTY_OPERATOR_PAGES, 'empty'),
  { role: 'operator', address: `call/${call}`, name: 'operator-story' },
  { role: 'operator', address: `call/${failedCall}`, name: 'operator-story-failed' },
  { role: 'operator', address: `call/${task}`, name: 'operator-story-task' },
  dialog('operator', 'accounts', 'menu', openIfNarrow('More')),
  dialog('operator', 'accounts', 'actions', openIfNarrow(/^Actions of/)),
  dialog('operator', 'accounts', 'create', refuse('Create an account', /^Name/, 'bad <name>')),
  dialog('operator', 'accounts', 'credit', refuse('Credit', /^Amount/, 'much')),
  dialog('operator', 'accounts', 'link', press('Sign-in link')),
  dialog('operator', 'accounts?search=ann', 'suspend', press('Suspend')),
  ...pageViews('operator', ['accounts?sort=balance&order=desc']),
  dialog('operator', 'account/4', 'credit', press('Credit')),
  dialog('operator', 'account/4', 'debit', press('Debit')),
  dialog('operator', 'account/4', 'overdraft', press('Set overdraft')),
  dialog('operator', 'account/4', 'limits', press('Limits')),
  dialog('operator', 'account/4', 'suspend', press('Suspend')),
  dialog('operator', 'account/2', 'key-limits', pressInTable('Limits')),
  dialog('operator', 'account/2', 'revoke', press('Revoke')),
  dialog('operator', `call/${call}`, 'refund', press('Refund')),
  dialog('operator', 'ledger?view=tasks', 'charge', press('Charge')),
  dialog('operator', 'ledger?view=tasks', 'refund', press('Release')),
  dialog('operator', 'ledger?view=audit', 'run', async page => {
    await page.getByRole('button', { name: 'Run the audit' }).click()
    await page.getByText('The ledger balances').waitFor()
  }),
  dialog('operator', 'alerts', 'tested', async page => {
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.locator('[data-test-result]').waitFor()
  }),
  dialog('operator', 'upstreams', 'tested', async page => {
    const row = page.getByRole('row').filter({ hasText: /^(?:rrcohere|gpopenai)/ })
    for (const each of await row.getByRole('button', { name: 'Test' }).all()) await each.click()
    await page.locator('[data-test]').nth(1).waitFor()
  }),
  dialog('operator', 'upstreams', 'add-provider', press('Add a provider')),
  dialog('operator', 'upstreams', 'add-model', press('Add a model')),
  dialog('operator', 'models', 'prices', press('Change prices')),
  dialog('operator', 'routes/chat', 'limits', press('Set limits')),
  dialog('operator', 'configuration', 'rollback', press('Roll back')),
  dialog('operator', 'configuration', 'refused', async page => {
    await page.getByRole('button', { name: 'Reload', exact: true }).click()
    // A reload starts a process that reads the whole configuration.
    await page.getByRole('alert').waitFor({ timeout: scaled(30_000) })
  }),
  dialog('operator', 'editor?file=notes.yaml', 'problems', async page => {
    await page.locator('.editor-lines .error').first().waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
  }),
  dialog('operator', 'editor', 'completions', async page => {
    // The schema comes after the keys: they are not lost.
    const { promise: isAsked, resolve } = Promise.withResolvers<void>()
    await page.route('**/api/admin/editor/schema', async route => {
      await isAsked
      await route.continue()
    })
    await page.reload()
    await page.locator('textarea').press('Control+Space')
    resolve()
    await page.locator('.completions').waitFor()
  }),
  ...(['customer', 'operator'] as const).flatMap(role =>
    (['loading', 'failed'] as const).flatMap(state => pageViews(role, LOADED_PAGES[role], state)),
  ),
]

/** Requests for data; those of the session only open the page. */
export const isData = ({ pathname }: URL): boolean =>
  /^\/(?:api|v1)\//.test(pathname) && pathname !== '/api/session'
export const isStream = (route: Route): boolean => route.request().resourceType() === 'eventsource'
const REFUSAL = {
  success: false,
  message: 'The store did not answer in time; try again.',
  code: 'STORE_BUSY',
}
const ANSWERS: Readonly<Record<NonNullable<View['state']>, (route: Route) => Promise<void>>> = {
  // Until the page is left: its data is still on the way.
  loading: () => Promise.resolve(),
  failed: route => {
    if (isStream(route)) return route.abort()
    return route.fulfill({
      status: 503,
      json: REFUSAL,
      headers: { 'x-request-id': 'req_01a209d7a1d127b8c14ca31e1d96b642' },
    })
  },
  empty: route =>
    isStream(route)
      ? route.continue()
      : route.fulfill({ json: { success: true, message: '', data: [], next: null } }),
}

/** Shows a view. A page that follows events or waits for its data never ends its requests. */
export const show = async (
  window: Window,
  url: string,
  view: View,
  prepare?: (page: Page) => Promise<void>,
): Promise<void> => {
  const { page, open } = window
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.goto('about:blank')
  if (view.state) await page.route(isData, ANSWERS[view.state])
  await prepare?.(page)
  if (view.state === 'loading') {
    await page.goto(`${url}/console#/${view.address}`)
    await page.locator('.skeletons').first().waitFor()
  } else await open(view.address)
  await view.act?.(page)
}
