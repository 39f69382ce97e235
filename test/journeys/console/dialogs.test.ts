/** Every dialog of the console in a browser has a harmless default: Enter on what has the focus
 *  when it opens takes no money, no secret and no data away, and Escape closes it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page, Request } from 'playwright-core'
import t from 'tap'
import { locate } from '../../../engine/store/database.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { sessionOf, startSample } from '../../helpers/console/sample-gateway.ts'
import { show, type View, viewsOf } from '../../helpers/console/views.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const CLIENT = join(import.meta.dirname, '../../../plugins/console/client')

// ---------------------------------------------------------------- dialogs

const press = (name: string) => async (page: Page) => {
  await page.locator('main').getByRole('button', { name, exact: true }).first().click()
  await page.getByRole('dialog').waitFor()
}
/** Fills the first field of a dialog and submits it. */
const submit = async (page: Page, field: RegExp, value: string, name: string) => {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(field).first().fill(value)
  await dialog.getByRole('button', { name, exact: true }).click()
  await page.locator('[data-secret]').waitFor()
}
/** Answers of the gateway with changes, before the page is shown again. */
const withAnswer = (path: RegExp, change: (row: Record<string, unknown>) => void) => {
  return async (page: Page) => {
    await page.route(path, async route => {
      const response = await route.fetch()
      const json = await response.json()
      for (const row of [json.data].flat()) change(row)
      return route.fulfill({ response, json })
    })
    await page.reload()
  }
}
/** Dialogs that no other test of all views opens. */
const furtherViews = (task: string): readonly View[] => {
  const view = (role: View['role'], address: string, act: View['act']): View => ({
    role,
    address,
    name: `${role}-${address}`,
    ...(act && { act }),
  })
  return [
    view('customer', 'notifications', async page => {
      await page.getByLabel('Webhook URL').fill('https://example.com/changed')
      await page.getByRole('link', { name: 'Tasks' }).first().click()
      await page.getByRole('dialog').waitFor()
    }),
    view('customer', 'statements', press('Redeem a code')),
    view('customer', 'statements', press('Buy')),
    view('customer', 'statements', async page => {
      await withAnswer(/\/api\/plans$/, row => {
        row.current = { ...(row.current as object), state: 'unpaid' }
      })(page)
      await press('Cancel the plan')(page)
    }),
    view('customer', 'models', press('Snippets')),
    view('customer', 'personal', press('Revoke')),
    view('customer', 'personal', async page => {
      await press('Create a system token')(page)
      await submit(page, /^Name/, 'shown once', 'Create a system token')
    }),
    view('customer', `task/${task}`, async page => {
      const isRunning = (row: Record<string, unknown>) => {
        row.state = 'running'
      }
      await withAnswer(/\/api\/tasks\/[^/]+$/, isRunning)(page)
      await press('Cancel the task')(page)
    }),
    view('customer', 'batches', async page => {
      const isRunning = (row: Record<string, unknown>) => {
        row.status = 'in_progress'
      }
      await withAnswer(/\/v1\/batches\?/, isRunning)(page)
      await press('Cancel the batch')(page)
    }),
    view('operator', 'codes', press('Make codes')),
    view('operator', 'codes', async page => {
      await press('Make codes')(page)
      await submit(page, /^Amount/, '1', 'Make codes')
    }),
    view('operator', 'codes', press('Revoke')),
  ]
}

// ---------------------------------------------------------------- titles

const DIALOG =
  /<(?:Dialog|Confirm|Notice|ChangeForm|OperationDialog)(?:<[^<>]*>)?\s(?:[^<]*?\s)??title=\{([\s\S]*?)\}(?=\s)/g
/** The keys of the titles that the source gives to dialogs. */
const titleKeys = (): readonly string[] => {
  const files = readdirSync(CLIENT, { recursive: true, encoding: 'utf8' })
  const keys = files
    .filter(name => name.endsWith('.tsx'))
    .flatMap(name => [...readFileSync(join(CLIENT, name), 'utf8').matchAll(DIALOG)])
    .flatMap(([, title = '']) => [...title.matchAll(/text\(\s*['`]([^'`]+)['`]/g)])
    .map(([, key = '']) => key)
  return [...new Set(keys)].sort()
}
/** Titles whose keys are computed. */
const COMPUTED: Readonly<Record<string, readonly string[]>> = {
  'ledger.${open.outcome}.title': ['ledger.charge.title', 'ledger.refund.title'],
}
/** The English text of a key, as texts.ts has it. */
const templateOf = (key: string): string => {
  const source = readFileSync(join(CLIENT, 'texts.ts'), 'utf8')
  const name = key.replaceAll('.', '\\.')
  const [, single, double] =
    new RegExp(`^  '?${name}'?: \\[\\s*(?:'([^']*)'|"([^"]*)")`, 'm').exec(source) ?? []
  return single ?? double ?? `no text ${key}`
}
const isTitle = (key: string, title: string): boolean => {
  const pattern = templateOf(key)
    .replace(/[?.()]/g, '\\$&')
    .replace(/\{\w+\}/g, '.*')
  return new RegExp(`^${pattern}$`).test(title)
}

// ---------------------------------------------------------------- harm

/** Rows that would be missed: balances, entries of the ledger, secrets, files, work under way. */
const QUERIES = [
  'SELECT id, suspended FROM accounts ORDER BY id',
  'SELECT id, digest, revoked, expires FROM api_keys ORDER BY id',
  'SELECT id, digest, revoked FROM system_tokens ORDER BY id',
  'SELECT id, digest, revoked FROM sessions ORDER BY id',
  'SELECT id, role, removed FROM members ORDER BY id',
  'SELECT id, kind, amount FROM credits ORDER BY id',
  'SELECT id, balance FROM wallets ORDER BY id',
  'SELECT * FROM codes ORDER BY 1',
  'SELECT * FROM webhook_endpoints ORDER BY 1',
  'SELECT id FROM stored_files ORDER BY id',
  'SELECT id, state FROM batches ORDER BY id',
  'SELECT id, state FROM tasks ORDER BY id',
]
const rowsOf = (data: string): readonly string[] => {
  const database = new DatabaseSync(locate('sqlite:', data).file, { readOnly: true })
  const rows = QUERIES.flatMap(query =>
    database
      .prepare(query)
      .all()
      .map(row => `${query}: ${JSON.stringify(row)}`),
  )
  database.close()
  return rows
}
/** Waits until every request that the page has sent is answered. */
const answersOf = (page: Page) => {
  const open = new Set<Request>()
  page.on('request', request => request.resourceType() !== 'eventsource' && open.add(request))
  page.on('requestfinished', request => open.delete(request))
  page.on('requestfailed', request => open.delete(request))
  return async () => {
    await page.evaluate('new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))')
    await eventually(() => open.size === 0)
  }
}
const FOCUS = `(() => {
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1)
  const { activeElement: focus } = document
  return { isInside: dialog.contains(focus), isDanger: focus.matches('.danger'),
    title: dialog.querySelector('h2').textContent }
})()`
interface Focus {
  readonly isInside: boolean
  readonly isDanger: boolean
  readonly title: string
}

t.test('dialogs: have a harmless default', { skip: missingBrowser }, async t => {
  const [gateway, browser] = await Promise.all([startSample(t), startBrowser(t)])
  const titles = new Set<string>()
  const views = [...viewsOf(gateway), ...furtherViews(gateway.task)]
  for (const role of ['customer', 'newcomer', 'operator'] as const)
    t.test(`${role}: Enter takes nothing away, Escape closes`, async t => {
      const window = await openWindow(t, browser, gateway, sessionOf(gateway, role))
      const { page, faults } = window
      page.setDefaultTimeout(scaled(30_000))
      const areAnswered = answersOf(page)
      const dialogs = page.locator('dialog[open]')
      for (const view of views.filter(each => each.role === role && each.act && !each.state)) {
        await show(window, gateway.url, view)
        if ((await dialogs.count()) === 0) continue
        const focus = (await page.evaluate(FOCUS)) as Focus
        titles.add(focus.title)
        t.match(focus, { isInside: true, isDanger: false }, view.name)
        const before = rowsOf(gateway.data)
        await page.keyboard.press('Enter')
        await areAnswered()
        const after = new Set(rowsOf(gateway.data))
        const missing = before.filter(row => !after.has(row))
        t.same(missing, [], `${view.name}: Enter takes nothing away`)
        await show(window, gateway.url, view)
        await page.keyboard.press('Escape')
        await eventually(async () => (await dialogs.count()) === 0)
      }
      t.same(faults, [])
    })
  t.test('all of them are opened', async t => {
    const keys = titleKeys().flatMap(key => COMPUTED[key] ?? [key])
    t.ok(keys.length > 35, `${keys.length} titles`)
    const unopened = keys.filter(key => ![...titles].some(title => isTitle(key, title)))
    t.same(unopened, [], [...titles].join(', '))
  })
})
